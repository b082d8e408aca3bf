"""One output after the other, on one thread, on every core, and in float64.

Source: PMPP, section 7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies import ArrayKernel, HostStrategy
from rooftile.strategies.common import double
from rooftile.strategies.common.correlate import PART_TERMS
from rooftile.strategies.contract.cpu import loops_and_threads

_DTYPES = ("float32",) * 3
BLOCK = 2**14
"""Outputs of a unit: enough to make little of what a unit costs, few enough for every core."""


@native
def one_output(x, weights, sizes, item, first, i):  # type: ignore[no-untyped-def]
    """Output ``i`` of the signals from ``item`` on, under the taps from ``first`` on.

    Ghost cells that are zeros take part as such: an infinite tap on one gives NaN, as in the
    reference.
    """
    length, channels, mask, before = sizes[0], sizes[2], sizes[4], sizes[5]
    replicate, interior = sizes[6], sizes[7]
    total = np.float32(0.0)
    if interior and (i < before or i >= length - (mask - 1 - before)):
        return total
    for c in range(channels):
        for start in range(0, mask, PART_TERMS):
            part = np.float32(0.0)
            for q in range(start, min(start + PART_TERMS, mask)):
                at = i + q - before
                if replicate:
                    at = min(max(at, 0), length - 1)
                tap = weights[first + c * mask + q]
                if 0 <= at < length:
                    part += tap * x[item + c * length + at]
                else:
                    part += tap * np.float32(0.0)
            total += part
    return total


@native
def kernel(x, weights, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Every output of the units."""
    length, outputs, channels, maps, mask = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    block = sizes[8]
    blocks = (outputs + block - 1) // block
    for unit in range(begin, end):
        row, start = unit // blocks, unit % blocks * block
        item, first = row // maps * channels * length, row % maps * channels * mask
        for i in range(start, min(start + block, outputs)):
            out[row * outputs + i] = one_output(x, weights, sizes, item, first, i)


class LineStrategy(HostStrategy):
    """Takes every problem; its cores share out blocks of outputs."""

    operation = "conv1d"
    takes = features("boundary:interior,replicate,valid")

    def function(self, problem: Conv1d) -> Native:
        """``function(x, weights, out, sizes, begin, end)``, with the sizes of `_sizes`."""
        return kernel

    def units(self, problem: Conv1d) -> int:
        return problem.rows * -(-problem.outputs // BLOCK)

    def native(self, problem: Conv1d) -> tuple[Native, tuple[str, ...], bool]:
        return self.function(problem), _DTYPES, False

    def prepare(
        self, problem: Conv1d, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return _Call(self, problem, parameters, threads if self.parallel else 1)


class _Call:
    """A strategy's function with weights."""

    def __init__(
        self,
        strategy: LineStrategy,
        problem: Conv1d,
        parameters: Sequence[AnyArray],
        threads: int,
    ) -> None:
        self._run = cpu.Spread(strategy.function(problem), _DTYPES)
        self._sizes, self._threads = _sizes(problem), threads
        self._units = strategy.units(problem) // problem.batch
        self._batched = problem.rank == 3
        self.renew(parameters)

    def renew(self, parameters: Sequence[AnyArray]) -> None:
        self._weights = np.array(parameters[0], np.float32, order="C")

    def __call__(self, x: AnyArray, out: AnyArray) -> None:
        sizes = np.array((*self._sizes, cpu.address(out) // 4), np.int64)
        units = (len(x) if self._batched else 1) * self._units
        self._run((x, self._weights, out), sizes, units, self._threads)


def _sizes(problem: Conv1d) -> tuple[int, ...]:
    """The functions' sizes at run time, but for the last: the result's offset, in floats."""
    return (
        problem.length, problem.outputs, problem.channels, problem.maps, problem.mask,
        problem.before, int(problem.boundary == "replicate"), int(problem.boundary == "interior"),
        BLOCK,
    )  # fmt: skip


class Loops(LineStrategy):
    """One output at a time, on one core."""

    name = "loops"
    summary = "one output after the other, one tap after the other, one thread"
    parallel = False


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "conv1d"
    takes = features("dtype:float64 boundary:*")
    summary = "float64: one output after the other, over the cores"

    def kernel(self, problem: Conv1d) -> ArrayKernel:
        p = problem
        boundary = {"replicate": 1, "interior": 2}.get(p.boundary, 0)
        sizes = (
            p.channels, 1, 1, p.length, p.maps, 1, 1, p.outputs, 1, 1, p.mask,
            0, 1, 1, 0, p.before, 0, boundary, *double.PLAIN,
        )  # fmt: skip
        return ArrayKernel(double.correlated, p.rows, sizes)


STRATEGIES = (*loops_and_threads(Loops(), "the same loops over a pool of threads"), Double())
