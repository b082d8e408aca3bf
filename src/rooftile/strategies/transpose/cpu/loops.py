"""`loops`: one element after the other, in the order of the result, on one thread."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.cpu import loops_and_threads
from rooftile.strategies.transpose._moves import of_results, too_many_axes


@native
def move(x, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows of y; ``sizes`` are the last three of y, then the strides of all in x."""
    second, third, fourth = sizes[0], sizes[1], sizes[2]
    step = sizes[6]
    for row in range(begin, end):
        outer = row // third
        start = outer // second * sizes[3] + outer % second * sizes[4] + row % third * sizes[5]
        for j in range(fourth):
            y[row * fourth + j] = x[start + j * step]


class Loops(ArrayStrategy):
    """Takes every permutation of up to four axes."""

    operation = "transpose"
    name = "loops"
    parallel = False
    summary = "one element after the other, in the order of the result, on one thread"
    takes = features("axes dtype:*")

    def limits(self, problem: Transpose) -> str | None:
        return too_many_axes(problem)

    def work(self, problem: Transpose) -> Work:
        """See `Strategy.work`: an element counts as an operation, and where lines of the result are
        gathered, as a step."""
        rank = len(problem.shape)
        gathered = rank > 0 and problem.axes[-1] != rank - 1
        steps = problem.count if gathered else 0
        return Work(problem.count, problem.bytes, self.units(problem), steps)

    def kernel(self, problem: Transpose) -> ArrayKernel:
        shape, strides = of_results(problem)
        return ArrayKernel(move, problem.count // shape[-1], (*shape[1:], *strides))


STRATEGIES = loops_and_threads(Loops())
