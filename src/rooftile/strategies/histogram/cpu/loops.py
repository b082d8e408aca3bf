"""`loops`: one element after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable

from rooftile._locks import lock
from rooftile.analysis.accesses import Accesses, Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies import HostStrategy
from rooftile.strategies.histogram.cpu._bins import counting


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "histogram"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("dtype:* edge_dtype:* edges sums:float64 weighted")

    def prepare(
        self, problem: Histogram, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        count, turn = counting(problem, 1, 1, 1), lock()

        def call(*arrays: AnyArray) -> None:
            with turn:
                arrays[-1][...] = count(arrays[:-1])

        return call

    def accesses(self, problem: Histogram) -> Counted:
        """One table: an increment waits for the one before where the bin is the same."""
        count = problem.count
        evenly = max(1.0, count / problem.bins)
        turns = Accesses(turns=evenly, turns_if_equal=count)
        return {"increments": through(count, count, count, evenly) + turns}


STRATEGY = Loops()
