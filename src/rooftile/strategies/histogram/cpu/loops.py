"""Rung 1, `loops`: one element after the other, on one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rooftile.ops import AnyArray
from rooftile.ops.histogram import Histogram
from rooftile.strategies import HostStrategy
from rooftile.strategies.histogram.cpu._bins import counting


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "histogram"
    name = "loops"
    order = 1
    parallel = False
    summary = "one element after the other, on one thread"

    def why_not(self, problem: Histogram) -> str | None:
        """None: it takes everything."""
        return None

    def prepare(
        self, problem: Histogram, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """See `HostStrategy.prepare`."""
        count, turn = counting(problem, 1, 1, 1), threading.Lock()

        def call(*arrays: AnyArray) -> None:
            with turn:
                arrays[-1][...] = count(arrays[:-1])

        return call


STRATEGY = Loops()
