"""Generate the CPU's kernel of weighted sums over volumes: blocks of rows in vector registers.

A unit is a band of rows of one plane of a result.  The rows that it needs are staged in scratch, a
tile of columns at a time, with real zeros for ghost cells; then a block of rows x vectors is summed
in registers.  Each staged vector serves every row of the block that meets it, each splat weight
every vector.  Sizes are read at run time: a text is of a pattern of taps, not of a problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import Float32
from rooftile.ops.patterns.volumes import Size3
from rooftile.strategies.contract.cpu_kernel import BoundKernel, CpuKernel

VECTORS = 2
"""Of a row of a block of sums in registers."""
_HEIGHTS = (4, 1)
"""Rows of such a block, the most first."""
BAND = 8
"""Rows of a unit."""
_TILE = 512
"""Columns that are staged at a time."""


@dataclass(frozen=True)
class TapGroup:
    """Taps of one plane and one column of a mask, as expressions of the text."""

    plane: str
    column: str
    weights: tuple[tuple[int, str], ...]
    """The rows of the taps, and where their weights lie."""


@dataclass(frozen=True)
class Pattern:
    """The taps of a mask."""

    mask: Size3
    points: tuple[Size3, ...] = ()
    """Planes, rows and columns of the taps, in the order of their weights; empty where there are
    all of them."""

    @property
    def weights(self) -> int:
        """Weights of a mask."""
        return len(self.points) or self.mask[0] * self.mask[1] * self.mask[2]

    @property
    def pitch(self) -> int:
        """From one staged row to the next: columns, those beneath the mask, and whole vectors."""
        block = VECTORS * vector.lanes()
        return _TILE + -(-(self.mask[2] - 1) // block) * block

    @property
    def scratch(self) -> int:
        """float32 of staged rows."""
        return self.mask[0] * self.staged_rows * self.pitch

    @property
    def staged_rows(self) -> int:
        """Of one plane."""
        return BAND + self.mask[1] - 1


def units(planes: int, rows: int) -> int:
    """Units of a result's volume."""
    return planes * -(-rows // BAND)


class VolumeKernel(BoundKernel):
    """A kernel of `kernel` on flat weights that the caller may change between two calls."""

    def __init__(self, made: CpuKernel, weights: Float32, image: int, threads: int) -> None:
        """``image`` is the number of elements of one input."""
        super().__init__(made, weights, np.zeros(1, np.float32), image, threads)

    def renew(self, parameters: Sequence[Float32]) -> None:
        self._keep[0][:] = parameters[0].ravel()


@last_kernels
def kernel(pattern: Pattern) -> Native:
    """``kernel(x, weights, bias, out, scratch, sizes, begin, end)``, which reads no bias.

    ``sizes``: channels, depth, height, width, maps, planes, rows, columns, and the numbers of
    planes, rows and columns from an output's first tap to its own index.
    """
    to = Writer()
    _emit_stage(to, pattern)
    for rows in _HEIGHTS:
        _emit_rows(to, pattern, rows)
    _emit_kernel(to, pattern)
    return source("volume_rows", to.text())


def _emit_stage(to: Writer, pattern: Pattern) -> None:
    """Write ``stage``: rows of all planes under the mask, zeros where there are none."""
    lanes = vector.lanes()
    to.line("def zeros(scratch, first, last):")
    to.line(" for k in range(first, last):", "  scratch[k] = float32(0.0)")
    with to.block("def copy_row(x, scratch, source, to, first, last, end):"):
        to.line("zeros(scratch, to, to + first)")
        with to.block(f"for k in range(first, last, {lanes}):"):
            to.line("count = last - k")
            to.line(f"if count >= {lanes}:", " store(scratch, to + k, load(x, source + k))")
            to.line(
                "else:",
                " store_part(scratch, to + k, load_part(x, source + k, count), count)",
            )
        to.line("zeros(scratch, to + last, to + end)")
    with (
        to.block("def stage(x, scratch, base, depth, height, width, z0, i0, j0, rows, end):"),
        to.block(f"for d in range({pattern.mask[0]}):"),
        to.block("for r in range(rows):"),
    ):
        to.line("z, i = z0 + d, i0 + r")
        to.line(f"to = (d * {pattern.staged_rows} + r) * {pattern.pitch}")
        to.line("if 0 <= z < depth and 0 <= i < height:")
        to.line(" source = base + (z * height + i) * width + j0")
        to.line(" first = min(max(0, -j0), end)")
        to.line(" last = max(first, min(end, width - j0))")
        to.line(" copy_row(x, scratch, source, to, first, last, end)")
        to.line("else:", " zeros(scratch, to, to + end)")


def _emit_rows(to: Writer, pattern: Pattern, rows: int) -> None:
    """Write the function that sums ``rows`` rows over the width of a tile."""
    lanes, width = vector.lanes(), VECTORS * vector.lanes()
    sums = [(y, v) for y in range(rows) for v in range(VECTORS)]
    with (
        to.block(f"def sum_{rows}(scratch, weights, out, at, taps, to, columns, wide, c):"),
        to.block(f"for j in range(0, wide, {width}):"),
    ):
        for v in range(VECTORS):
            to.line(f"n{v} = max(0, min({lanes}, wide - j - {v * lanes}))")
        to.line(*(f"a{y}_{v} = splat(float32(0.0))" for y, v in sums))
        with to.block("if c > 0:"):
            # The channels before have left their sums in the result.
            to.line(*(f"a{y}_{v} = load_part(out, {_place(y, v)}, n{v})" for y, v in sums))
        _emit_groups(to, pattern, rows)
        to.line(f"if wide - j >= {width}:")
        to.line(*(f" store(out, {_place(y, v)}, a{y}_{v})" for y, v in sums))
        to.line("else:")
        to.line(*(f" store_part(out, {_place(y, v)}, a{y}_{v}, n{v})" for y, v in sums))


def _place(row: int, number: int) -> str:
    return f"to + {row} * columns + j + {number * vector.lanes()}"


def _emit_groups(to: Writer, pattern: Pattern, rows: int) -> None:
    planes, height, width = pattern.mask
    if pattern.points:
        for group in _groups(pattern.points):
            _emit_group(to, pattern, group, rows)
        return
    with to.block(f"for d in range({planes}):"), to.block(f"for q in range({width}):"):
        weights = tuple((p, f"taps + (d * {height} + {p}) * {width} + q") for p in range(height))
        _emit_group(to, pattern, TapGroup("d", "q", weights), rows)


def _groups(points: Sequence[Size3]) -> list[TapGroup]:
    """The points of each plane and column together."""
    found: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for k, (d, p, q) in enumerate(points):
        found.setdefault((d, q), []).append((p, f"taps + {k}"))
    return [TapGroup(str(d), str(q), tuple(weights)) for (d, q), weights in found.items()]


def _emit_group(to: Writer, pattern: Pattern, group: TapGroup, rows: int) -> None:
    """Write the taps of a group: each staged row is loaded once for all rows that it meets."""
    weights: Mapping[int, str] = dict(group.weights)
    to.line(*(f"w{p} = splat_at(weights, {at})" for p, at in weights.items()))
    plane = pattern.staged_rows * pattern.pitch
    to.line(f"s = at + {group.plane} * {plane} + {group.column} + j")
    for r in range(rows + pattern.mask[1] - 1):
        met = [(y, r - y) for y in range(rows) if r - y in weights]
        for v in range(VECTORS) if met else ():
            to.line(f"t{v} = load(scratch, s + {r * pattern.pitch + v * vector.lanes()})")
        for y, p in met:
            to.line(*(f"a{y}_{v} = fma(w{p}, t{v}, a{y}_{v})" for v in range(VECTORS)))


def _emit_kernel(to: Writer, pattern: Pattern) -> None:
    _, height, width = pattern.mask
    block = VECTORS * vector.lanes()
    names = ("channels", "depth", "height", "width", "maps", "planes", "rows", "columns")
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line(*(f"{name} = sizes[{k}]" for k, name in enumerate(names)))
        to.line(f"bands = (rows + {BAND - 1}) // {BAND}")
        with to.block("for unit in range(begin, end):"):
            to.line(f"top = unit % bands * {BAND}", f"high = min({BAND}, rows - top)")
            to.line("plane = unit // bands % planes", "volume = unit // (bands * planes)")
            to.line("n, m = volume // maps, volume % maps")
            with (
                to.block(f"for left in range(0, columns, {_TILE}):"),
                to.block("for c in range(channels):"),
            ):
                to.line(f"wide = min({_TILE}, columns - left)")
                to.line(f"filled = (wide + {block - 1}) // {block} * {block} + {width - 1}")
                to.line("base = (n * channels + c) * depth * height * width")
                to.line(f"taps = (m * channels + c) * {pattern.weights}")
                to.line(
                    "stage(x, scratch, base, depth, height, width, plane - sizes[8],"
                    f" top - sizes[9], left - sizes[10], high + {height - 1}, filled)"
                )
                to.line("to = ((volume * planes + plane) * rows + top) * columns + left", "i = 0")
                for rows in _HEIGHTS:
                    with to.block(f"while i + {rows} <= high:"):
                        to.line(
                            f"sum_{rows}(scratch, weights, out, i * {pattern.pitch}, taps,"
                            " to + i * columns, columns, wide, c)",
                            f"i += {rows}",
                        )
