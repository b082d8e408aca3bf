"""Rows of the result, one after the other and over the cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, values_of
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.spmm import Spmm
from rooftile.strategies import HostStrategy


class CpuSpmm(HostStrategy):
    """A kernel whose units are rows of the result."""

    operation = "spmm"
    takes = features("dtype:* index:int64")
    text: ClassVar[str]
    flags: ClassVar[str] = ""

    def units(self, problem: Spmm) -> int:
        return problem.rows

    def prepare(
        self, problem: Spmm, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        dtypes = tuple(values_of(array.dtype) for array in problem.arrays)
        run = _spread(self.text.replace("ZERO", f"np.{problem.summed}(0.0)"), dtypes, self.flags)
        sizes = cpu.sizes_of(problem.width)
        count = threads if self.parallel else 1

        def call(*arrays: AnyArray) -> None:
            run(arrays, sizes, problem.rows, count)

        return call


@last_kernels
def _spread(text: str, dtypes: tuple[str, ...], flags: str) -> cpu.Spread:
    return cpu.Spread(source("spmm", text, flags=flags), dtypes)


class Loops(CpuSpmm):
    """Takes every problem."""

    name = "loops"
    parallel = False
    summary = "one element of the result after the other, on one thread"
    text = """
def kernel(values, column_index, row_offsets, b, c, sizes, begin, end):
    width = sizes[0]
    for r in range(begin, end):
        for j in range(width):
            total = ZERO
            for e in range(row_offsets[r], row_offsets[r + 1]):
                total = total + values[e] * b[column_index[e] * width + j]
            c[r * width + j] = total
"""


class Threads(CpuSpmm):
    """Takes every problem.

    The loop over b's columns is the inner one: it reads b's rows in order, and the compiler
    vectorises it. What it removes: strides, and idle cores.
    """

    name = "threads"
    summary = "rows over the cores, each a sum of rows of b"
    flags = "contract"
    text = """
def kernel(values, column_index, row_offsets, b, c, sizes, begin, end):
    width = sizes[0]
    for r in range(begin, end):
        for j in range(width):
            c[r * width + j] = ZERO
        for e in range(row_offsets[r], row_offsets[r + 1]):
            value = values[e]
            line = column_index[e] * width
            for j in range(width):
                c[r * width + j] = c[r * width + j] + value * b[line + j]
"""


STRATEGIES = (Loops(), Threads())
