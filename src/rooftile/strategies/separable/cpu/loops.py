"""Both passes of one output after the other, on one thread, on every core, and in float64.

Source: PMPP, section 7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies import ArrayKernel, HostStrategy
from rooftile.strategies.common import double
from rooftile.strategies.common.correlate import PART_TERMS

_DTYPES = ("float32",) * 5
BAND = 16
"""Rows of a unit."""


@native
def sum_down(x, column, sizes, image, i, j):  # type: ignore[no-untyped-def]
    """The column's sum for row ``i`` of the result at column ``j`` of the image, which may be a
    ghost cell's."""
    height, width, taps, top, replicate = sizes[0], sizes[1], sizes[4], sizes[6], sizes[8]
    total = np.float32(0.0)
    if replicate:
        j = min(max(j, 0), width - 1)
    for start in range(0, taps, PART_TERMS):
        part = np.float32(0.0)
        for p in range(start, min(start + PART_TERMS, taps)):
            at = i + p - top
            if replicate:
                at = min(max(at, 0), height - 1)
            if 0 <= at < height and 0 <= j < width:
                part += column[p] * x[image + at * width + j]
            else:
                part += column[p] * np.float32(0.0)
        total += part
    return total


class FilterStrategy(HostStrategy):
    """Takes every problem; its cores share out bands of rows.

    Ghost cells take part as what they are: an infinite tap on a zero gives NaN, as in the
    reference.
    """

    operation = "separable"
    takes = features("boundary:replicate,valid")

    def function(self, problem: Separable) -> Native:
        """``function(x, column, row, between, out, sizes, begin, end)``, with the sizes of
        `_sizes`."""
        raise NotImplementedError

    def between(self, problem: Separable) -> int:
        """float32 of all column sums that the function keeps in memory."""
        return 1

    def units(self, problem: Separable) -> int:
        return problem.batch * -(-problem.output_size[0] // BAND)

    def native(self, problem: Separable) -> tuple[Native, tuple[str, ...], bool]:
        return self.function(problem), _DTYPES, False

    def prepare(
        self, problem: Separable, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return _Call(self, problem, parameters, threads if self.parallel else 1)


class _Call:
    """A strategy's function with column and row, whose calls from several threads take turns."""

    def __init__(
        self,
        strategy: FilterStrategy,
        problem: Separable,
        parameters: Sequence[AnyArray],
        threads: int,
    ) -> None:
        self._run = cpu.Spread(strategy.function(problem), _DTYPES)
        self._between = strategy.between(problem)
        self._sizes, self._threads = _sizes(problem), threads
        self._units = strategy.units(problem) // problem.batch
        self._batched = problem.rank == 3
        self._turn = lock()
        self.renew(parameters)

    def renew(self, parameters: Sequence[AnyArray]) -> None:
        self._column, self._row = (np.array(p, np.float32, order="C") for p in parameters)

    def __call__(self, x: AnyArray, out: AnyArray) -> None:
        sizes = np.array((*self._sizes, cpu.address(out) // 4), np.int64)
        units = (len(x) if self._batched else 1) * self._units
        shape, dtype = (self._between,), np.dtype(np.float32)
        with self._turn, cpu.lent(shape, dtype, "column sums") as between:
            arrays = (x, self._column, self._row, between, out)
            self._run(arrays, sizes, units, self._threads)


def _sizes(problem: Separable) -> tuple[int, ...]:
    """The functions' sizes at run time, but for the last: the result's offset, in floats."""
    return (
        problem.height, problem.width, *problem.output_size, *problem.mask, *problem.before,
        int(problem.boundary == "replicate"), BAND,
    )  # fmt: skip


@native
def kernel(x, column, row, between, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are images; ``between`` holds one image's column sums, ghost columns included."""
    height, width, rows, columns = sizes[0], sizes[1], sizes[2], sizes[3]
    taps, left = sizes[5], sizes[7]
    wide = columns + taps - 1
    for image in range(begin, end):
        for i in range(rows):
            for j in range(wide):
                between[i * wide + j] = sum_down(
                    x, column, sizes, image * height * width, i, j - left
                )
        for i in range(rows):
            for j in range(columns):
                total = np.float32(0.0)
                for start in range(0, taps, PART_TERMS):
                    part = np.float32(0.0)
                    for q in range(start, min(start + PART_TERMS, taps)):
                        part += row[q] * between[i * wide + j + q]
                    total += part
                out[(image * rows + i) * columns + j] = total


class Loops(FilterStrategy):
    """One output at a time, on one core."""

    name = "loops"
    summary = "two passes over the image, one output after the other, one thread"
    parallel = False

    def function(self, problem: Separable) -> Native:
        return kernel

    def units(self, problem: Separable) -> int:
        return problem.batch

    def round_trips(self, problem: Separable) -> dict[str, int]:
        return {"the columns' sums": 4 * problem.batch * self.between(problem)}

    def between(self, problem: Separable) -> int:
        """The column's sums of an image."""
        rows, columns = problem.output_size
        return rows * (columns + problem.mask[1] - 1)


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "separable"
    takes = features("dtype:float64 boundary:*")
    summary = "float64: both sums of one output after the other, over the cores"

    def kernel(self, problem: Separable) -> ArrayKernel:
        p = problem
        replicate = int(p.boundary == "replicate")
        sizes = (p.height, p.width, *p.output_size, *p.mask, *p.before, replicate)
        return ArrayKernel(double.separated, p.batch * p.output_size[0], sizes)


STRATEGIES = (Loops(), Double())
