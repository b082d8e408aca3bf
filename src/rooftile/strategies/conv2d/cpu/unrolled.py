"""`unrolled`: sizes and mask literal, taps unrolled, the width auto-vectorised.

A row of convolution outputs is in scratch; one pass over it adds a group of taps of one channel,
written out one by one, so that the compiler keeps the row's elements in vectors for the whole
group. Activation and pooling then read the rows from scratch, and the result is written once. A
unit is one result row of one image.

Source: PMPP, section 7.2 (the mask as constants) and 6.3 (coarsening), on a processor's vectors.
"""

from __future__ import annotations

import dataclasses
from itertools import product

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import last_kernels, source, vector
from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.common.fused import finish_row
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy
from rooftile.strategies.conv2d.cpu._epilogue import finish_row_call
from rooftile.strategies.conv2d.cpu._stage import Staged

_GROUP = 28
"""Taps written out in one pass: about as many as there are vector registers to keep them in."""
_AREA = 128
"""Largest mask that is written out whole: the compiler's time grows with the text."""
_LANES = 16
"""Rows in scratch are rounded up to a cache line."""


class UnrolledImages(CpuStrategy):
    """Takes every problem."""

    operation = "conv2d"
    name = "unrolled"
    summary = "literal sizes, taps unrolled, auto-vectorised along the width"
    takes = features(
        "activation:* boundary:interior,replicate padding pool.activation:* "
        "pool:average,l2,max stride"
    )

    def kernel(self, problem: Conv2d) -> CpuKernel:
        return _kernel(problem.with_batch(1))


STRATEGY = UnrolledImages()


@last_kernels
def _kernel(problem: Conv2d) -> CpuKernel:
    staged = _staged(problem)
    text = _generate(problem, staged)
    rows = problem.output_size[0]
    return CpuKernel(
        # Fused multiply-adds are IEEE; no other liberty is taken.
        source("unrolled", text, {"finish_row": finish_row}, flags="contract"),
        units=lambda images: images * rows,
        scratch=staged.size + _window(problem)[0] * _pitch(problem),
    )


def _window(problem: Conv2d) -> tuple[int, int]:
    """Convolution rows behind a result row, and how many rows further down the next ones begin."""
    pool = problem.pool
    return (pool.window[0], pool.stride[0]) if pool else (1, 1)


def _pitch(problem: Conv2d) -> int:
    return -(-problem.conv_span[1] // _LANES) * _LANES


def _staged(problem: Conv2d) -> Staged:
    rows = (_window(problem)[0] - 1) * problem.stride[0] + problem.mask[0]
    # All columns are staged, so that a pool may leave gaps between its windows.
    whole = dataclasses.replace(problem, pool=None)
    lanes = vector.lanes()
    return Staged(whole, rows, -(-problem.conv_size[1] // lanes), lanes)


def _generate(p: Conv2d, staged: Staged) -> str:
    """Source of a module with ``kernel``."""
    to = Writer()
    rows, step = p.output_size[0], _window(p)[1] * p.stride[0]
    with (
        to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        to.line(f"n, row = unit // {rows}, unit % {rows}")
        image = f"n * {p.channels * p.height * p.width}"
        if staged.needed:
            staged.emit(to, image, f"row * {_window(p)[1]}")
            to.line("base = 0")
        else:
            to.line(f"base = {image} + row * {step * p.width}")
        with to.block(f"for m in range({p.maps}):"):
            with to.block(f"for a in range({_window(p)[0]}):"):
                _emit_row(to, p, staged)
                if p.ghosts == "interior":
                    _emit_cleared(to, p)
            _emit_finish(to, p, staged)
    return to.text()


def _emit_row(to: Writer, p: Conv2d, staged: Staged) -> None:
    """Write the sum of convolution row ``a`` of the window, for map m, into scratch."""
    columns, area = p.conv_span[1], p.mask[0] * p.mask[1]
    to.line(f"t = {staged.size} + a * {_pitch(p)}", "start = bias[m]")
    with to.block(f"for j in range({columns}):"):
        to.line("scratch[t + j] = start")
    with to.loop("c", p.channels) as c:
        to.line(f"s = base + {c} * {staged.plane} + a * {p.stride[0] * staged.row}")
        to.line(f"w = (m * {p.channels} + {c}) * {area}")
        _emit_taps(to, p, staged)


def _emit_cleared(to: Writer, p: Conv2d) -> None:
    """Write zeros at those positions of row ``a`` of the window whose masks meet ghost cells."""
    (rows, columns), read = p.inside, p.conv_span[1]
    to.line(f"i = row * {_window(p)[1]} + a")
    with to.block(f"if i < {rows.start} or i >= {rows.stop}:"):
        _emit_zeros(to, 0, read)
    with to.block("else:"):
        _emit_zeros(to, 0, min(columns.start, read))
        _emit_zeros(to, min(max(columns.start, columns.stop), read), read)


def _emit_zeros(to: Writer, begin: int, end: int) -> None:
    with to.block(f"for j in range({begin}, {end}):"):
        to.line("scratch[t + j] = 0.0")


def _emit_taps(to: Writer, p: Conv2d, staged: Staged) -> None:
    """Write all taps of channel c, in groups."""
    height, width = p.mask
    if height * width <= _AREA:
        taps = [(str(i), str(j)) for i, j in product(range(height), range(width))]
        for first in range(0, len(taps), _GROUP):
            _emit_group(to, p, staged, taps[first : first + _GROUP])
        return
    whole, rest = divmod(width, _GROUP)
    with to.loop("i", height) as i:
        if whole:
            with to.loop("g", whole) as g:
                columns = [f"({g} * {_GROUP} + {j})" for j in range(_GROUP)]
                _emit_group(to, p, staged, [(i, j) for j in columns])
        if rest:
            columns = [str(whole * _GROUP + j) for j in range(rest)]
            _emit_group(to, p, staged, [(i, j) for j in columns])


def _emit_group(to: Writer, p: Conv2d, staged: Staged, taps: list[tuple[str, str]]) -> None:
    """Add some taps to the row: one load and store of each sum for all of them."""
    source = "scratch" if staged.needed else "x"
    for k, (i, j) in enumerate(taps):
        to.line(f"w{k} = weights[w + {i} * {p.mask[1]} + {j}]")
        to.line(f"s{k} = s + {i} * {staged.row} + {staged.column(j)}")
    with to.block(f"for j in range({p.conv_span[1]}):"):
        to.line("z = scratch[t + j]")
        to.line(*(f"z += w{k} * {source}[s{k} + j]" for k in range(len(taps))))
        to.line("scratch[t + j] = z")


def _emit_finish(to: Writer, p: Conv2d, staged: Staged) -> None:
    """Write activation and pool of the window's rows, into the result."""
    rows, columns = p.output_size
    out = f"((n * {p.maps} + m) * {rows} + row) * {columns}"
    to.line(finish_row_call(p, staged.size, _pitch(p), out))
