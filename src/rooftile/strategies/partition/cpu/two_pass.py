"""`two_pass`: what goes before the pivot is counted in parts, then all move, by all cores. Source:
PMPP, section 11.6."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.partition import Partition
from rooftile.strategies import HostStrategy
from rooftile.strategies.partition.cpu import _sides

_MOST_PARTS = 64
_PART = 4096
"""Least elements of a part."""


class TwoPass(HostStrategy):
    """Takes every problem."""

    operation = "partition"
    name = "two_pass"
    summary = "what goes before the pivot is counted in parts, then all move, by all cores"
    takes = features("dtype:*")

    def units(self, problem: Partition) -> int:
        return max(1, min(_MOST_PARTS, problem.count // _PART))

    def prepare(
        self, problem: Partition, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return in_parts(problem, self.units(problem), threads)

    def accesses(self, problem: Partition) -> Counted:
        """Comparisons of element and pivot, twice: to count, and to move."""
        count, parts = problem.count, self.units(problem)
        steps = -(-count // parts)
        return {
            "counts of parts": through(count, parts, count, steps),
            "elements to their places": through(count, count, count, steps),
        }


def in_parts(problem: Partition, parts: int, threads: int) -> Callable[..., None]:
    """``call(x, pivot, y, less)`` in ``parts`` parts."""
    words = _sides.words_of(problem)
    count = cpu.Spread(_sides.counting(problem), (words.given, words.given, "int64"))
    move = cpu.Spread(_sides.moving(problem), (*(words.given,) * 2, "int64", words.given))
    sizes = np.array((problem.count, parts), np.int64)
    places = np.zeros(parts + 1, np.int64)
    turn = lock()

    def call(x: AnyArray, pivot: AnyArray, y: AnyArray, less: AnyArray) -> None:
        given = words.viewed(x), words.viewed(pivot)
        made = words.viewed(y)
        with turn:
            places[0] = 0
            count((*given, places), sizes, parts, threads)
            np.cumsum(places, out=places)
            move((*given, places, made), sizes, parts, threads)
            less[0] = places[parts]

    return call


STRATEGY = TwoPass()
