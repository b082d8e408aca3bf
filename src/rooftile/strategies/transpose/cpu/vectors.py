"""`vectors`: squares of vectors are transposed in registers and stored past the cache.

A block's element in `blocked` is loaded and stored alone, and each line of the result is read
before it is written.  Here a square of a line's width is loaded, transposed by a few shuffles and
stored by whole lines at once.  Streaming stores write them without reading them, where the arrays
outgrow the cache and the rows of the result begin at the same place of a line.

Two squares above each other give two neighbouring lines of each row of the result. More of them
would be better for the memory, but rows at strides of a power of two share a cache set, and then
lines are evicted before they are used. A square's rows are also more than the processor's own
prefetching follows: lines are asked for some columns ahead. Squares begin where lines of x begin,
where all rows do so at the same place: none is loaded twice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.devices.cpu.native.vector import lanes
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.streaming import lead_of, pays
from rooftile.strategies.common.transposition import emit_transposition
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.transpose.cpu.blocked import why_no_matrices

_LINE = 16
"""float32 of a line, and so rows and columns of a square."""
_BAND = 32
"""Rows of x that a unit takes: two lines of each row of the result."""
_AHEAD = 64
"""Columns that lines of x are asked for ahead."""


@last_kernels
def _kernel(store: str) -> cpu.Spread:
    """``kernel(x, y, sizes, begin, end)``: units are bands of rows of a matrix. ``sizes``: rows,
    columns, bands of a matrix, rows before the first band, and the column, zero or less, where the
    first line of a row of x begins."""
    to = Writer()
    _emit_edge(to)
    with to.block("def kernel(x, y, sizes, begin, end):"):
        to.line("rows, columns, bands, lead = sizes[0], sizes[1], sizes[2], sizes[3]")
        to.line("first = sizes[4]")
        with to.block("for unit in range(begin, end):"):
            to.line("start, band = unit // bands * rows * columns, unit % bands")
            to.line(f"top = lead + band * {_BAND}", f"bottom = min(top + {_BAND}, rows)")
            to.line(f"squares = top + (bottom - top) // {_LINE} * {_LINE}")
            with to.block("if band == 0:"):
                to.line("edge(x, y, start, rows, columns, 0, lead)")
            with to.block(f"if columns < {_LINE}:"):
                to.line("squares = top")
            with to.block(f"for left in range(first, columns, {_LINE}):"):
                to.line("# The first and the last square take columns of their neighbours, too.")
                to.line(f"j = min(max(left, 0), columns - {_LINE})")
                _emit_squares(to, store)
            to.line("edge(x, y, start, rows, columns, squares, bottom)")
    return cpu.Spread(source(f"transpose_{store}", to.text()), ("float32",) * 2)


def _emit_edge(to: Writer) -> None:
    """Write the function for rows that are no whole squares: from, and before which."""
    with (
        to.block("def edge(x, y, start, rows, columns, top, bottom):"),
        to.block("for j in range(columns):"),
        to.block("for i in range(top, bottom):"),
    ):
        to.line("y[start + j * rows + i] = x[start + i * columns + j]")


def _emit_squares(to: Writer, store: str) -> None:
    """Write how the squares of a band that begin at column j get into the result. A line that is
    stored past the cache by two vectors has both at once, before it is sent away."""
    width = lanes()
    with to.block(f"for i in range(top, squares, {_LINE}):"):
        to.line("at = start + i * columns + j")
        to.line(*(f"prefetch2(x, at + {k} * columns + {_AHEAD})" for k in range(_LINE)))
        for column in range(0, _LINE, width):
            made = []
            for row in range(0, _LINE, width):
                names = [f"r{row + k}" for k in range(width)]
                places = (f"at + {row + k} * columns + {column}" for k in range(width))
                loads = (f"load(x, {place})" for place in places)
                to.line(*(f"{name} = {load}" for name, load in zip(names, loads, strict=True)))
                made.append(emit_transposition(to, width, names, f"s{row}_"))
            for k in range(width):
                line = f"start + (j + {column + k}) * rows + i"
                for row, names in zip(range(0, _LINE, width), made, strict=True):
                    to.line(f"{store}(y, {line} + {row}, {names[k]})")


class Vectors(HostStrategy):
    """Takes matrices of float32, and batches of them."""

    operation = "transpose"
    name = "vectors"
    summary = "squares of vectors, transposed in registers and stored past the cache"
    takes = features("axes")

    def limits(self, problem: Transpose) -> str | None:
        if problem.dtype != "float32":
            return f"{problem.dtype}: its vectors are float32"
        return why_no_matrices(problem)

    def units(self, problem: Transpose) -> int:
        assert problem.matrices is not None
        batch, rows, _ = problem.matrices
        return batch * -(-rows // _BAND)

    def work(self, problem: Transpose) -> Work:
        """See `Strategy.work`: the squares; a row without a whole one is moved by elements."""
        assert problem.matrices is not None
        batch, rows, columns = problem.matrices
        squares = -(-columns // _LINE) if columns >= _LINE else columns
        return Work(0, problem.bytes, batch * -(-rows // _LINE) * squares)

    def native(self, problem: Transpose) -> tuple[Native, tuple[str, ...], bool]:
        return _kernel("stream" if _streams(problem) else "store").native

    def prepare(
        self, problem: Transpose, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        assert problem.matrices is not None
        batch, rows, columns = problem.matrices
        streams = _streams(problem)
        run = _kernel("stream" if streams else "store")

        def call(x: AnyArray, y: AnyArray) -> None:
            lead = lead_of(y) if streams else 0
            bands = -(-(rows - lead) // _BAND)
            first = 0 if columns % _LINE else -(-lead_of(x) % _LINE)
            sizes = np.array((rows, columns, bands, lead, first), np.int64)
            run((x, y), sizes, batch * bands, threads)

        return call


def _streams(problem: Transpose) -> bool:
    """True if the result goes past the caches."""
    assert problem.matrices is not None
    return pays(problem.bytes) and problem.matrices[1] % _LINE == 0


STRATEGY = Vectors()
