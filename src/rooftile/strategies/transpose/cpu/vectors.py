"""Rung 4, `vectors`: squares of vectors are transposed in registers and stored past the cache.

A block's element in `blocked` is loaded and stored alone, and each line of the result is read
before it is written.  Here a vector's worth of rows is loaded and transposed by a few shuffles.
Squares are gathered in scratch until four kilobytes of each row have been read and four lines of
each row of the result are there: then whole lines are stored.  Scratch is larger than the first
cache, so its lines are asked for before they are stored.  Streaming stores write them without
reading them, where the arrays outgrow the cache and the rows of the result begin at the same place
of a line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, source
from rooftile.devices.cpu.native.vector import lanes
from rooftile.ops import AnyArray
from rooftile.ops.transpose import Transpose
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.streaming import lead_of, pays
from rooftile.strategies.common.transposition import emit_transposition
from rooftile.strategies.transpose.cpu.blocked import why_no_matrices

_LINE_FLOATS = 16
_BAND = 64
"""Rows of x that a unit takes: four lines of each row of the result."""
_COLUMNS = 1024
"""Columns that are gathered: four kilobytes of each row of x."""
_AHEAD = 8
"""Columns of scratch that are asked for ahead."""


@cache
def _kernel(store: str) -> cpu.Spread:
    """``kernel(x, y, sizes, begin, end)``: units are bands of rows of a matrix.

    ``sizes``: rows, columns, bands of a matrix, rows before the first band.
    """
    width, to = lanes(), Writer()
    _emit_edge(to)
    with to.block("def kernel(x, y, sizes, begin, end):"):
        to.line("rows, columns, bands, lead = sizes[0], sizes[1], sizes[2], sizes[3]")
        to.line(f"whole = columns // {width} * {width}")
        to.line(f"held = np.empty({_BAND * _COLUMNS}, np.float32)")
        with to.block("for unit in range(begin, end):"):
            to.line("start, band = unit // bands * rows * columns, unit % bands")
            to.line(f"top = lead + band * {_BAND}", f"bottom = min(top + {_BAND}, rows)")
            to.line(f"squares = top + (bottom - top) // {width} * {width}")
            with to.block("if band == 0:"):
                to.line("edge(x, y, start, rows, columns, 0, lead, 0, columns)")
            with to.block(f"for left in range(0, whole, {_COLUMNS}):"):
                to.line(f"right = min(left + {_COLUMNS}, whole)")
                _emit_gathering(to, width)
                _emit_stores(to, width, store)
            to.line("edge(x, y, start, rows, columns, top, squares, whole, columns)")
            to.line("edge(x, y, start, rows, columns, squares, bottom, 0, columns)")
    return cpu.Spread(source(f"transpose_{store}", to.text()), ("float32",) * 2)


def _emit_edge(to: Writer) -> None:
    """Write the function for what is no whole square: rows and columns from, and before which."""
    with (
        to.block("def edge(x, y, start, rows, columns, top, bottom, left, right):"),
        to.block("for j in range(left, right):"),
        to.block("for i in range(top, bottom):"),
    ):
        to.line("y[start + j * rows + i] = x[start + i * columns + j]")


def _emit_gathering(to: Writer, width: int) -> None:
    """Write how squares get into scratch[columns][rows of the band]."""
    names = [f"r{k}" for k in range(width)]
    with (
        to.block(f"for i in range(top, squares, {width}):"),
        to.block(f"for j in range(left, right, {width}):"),
    ):
        to.line(*(f"r{k} = load(x, start + (i + {k}) * columns + j)" for k in range(width)))
        for k, name in enumerate(emit_transposition(to, width, names)):
            to.line(f"store_aligned(held, (j - left + {k}) * {_BAND} + i - top, {name})")


def _emit_stores(to: Writer, width: int, store: str) -> None:
    """Write how scratch gets into the result."""
    with (
        to.block("for j in range(left, right):"),
        to.block(f"for i in range(top, squares, {width}):"),
    ):
        with to.block(f"if (i - top) % {_LINE_FLOATS} == 0:"):
            to.line(f"prefetch1(held, (j - left + {_AHEAD}) * {_BAND} + i - top)")
        to.line(f"v = load(held, (j - left) * {_BAND} + i - top)")
        to.line(f"{store}(y, start + j * rows + i, v)")


class Vectors(HostStrategy):
    """Takes matrices of float32, and batches of them."""

    operation = "transpose"
    name = "vectors"
    order = 4
    summary = "squares of vectors, transposed in registers and stored past the cache"

    def why_not(self, problem: Transpose) -> str | None:
        """Vectors are of float32; it transposes matrices."""
        if problem.dtype != "float32":
            return f"{problem.dtype}: its vectors are float32"
        return why_no_matrices(problem)

    def units(self, problem: Transpose) -> int:
        """Bands of rows."""
        assert problem.matrices is not None
        batch, rows, _ = problem.matrices
        return batch * -(-rows // _BAND)

    def native(self, problem: Transpose) -> tuple[Native, tuple[str, ...], bool]:
        """See `HostStrategy.native`."""
        return _kernel("stream" if _streams(problem) else "store").native

    def prepare(
        self, problem: Transpose, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """See `HostStrategy.prepare`."""
        assert problem.matrices is not None
        batch, rows, columns = problem.matrices
        streams = _streams(problem)
        run = _kernel("stream" if streams else "store")

        def call(x: AnyArray, y: AnyArray) -> None:
            lead = lead_of(y) if streams else 0
            bands = -(-(rows - lead) // _BAND)
            sizes = np.array((rows, columns, bands, lead), np.int64)
            run((x, y), sizes, batch * bands, threads)

        return call


def _streams(problem: Transpose) -> bool:
    """Whether the result goes past the caches."""
    assert problem.matrices is not None
    return pays(problem.bytes) and problem.matrices[1] % _LINE_FLOATS == 0


STRATEGY = Vectors()
