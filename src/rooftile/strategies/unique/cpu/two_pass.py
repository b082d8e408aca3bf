"""`two_pass`: the beginnings of runs are counted in parts, then moved, by all cores. Source: PMPP,
section 11.6."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.unique import Unique
from rooftile.strategies import HostStrategy
from rooftile.strategies.unique.cpu import _runs

_MOST_PARTS = 64
_PART = 4096
"""Least elements of a part."""


class TwoPass(HostStrategy):
    """Takes every problem."""

    operation = "unique"
    name = "two_pass"
    summary = "beginnings of runs are counted in parts, then moved, by all cores"
    takes = features("dtype:* runs")

    def units(self, problem: Unique) -> int:
        return max(1, min(_MOST_PARTS, problem.count // _PART))

    def prepare(
        self, problem: Unique, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return in_parts(problem, self.units(problem), threads)

    def accesses(self, problem: Unique) -> Counted:
        """Comparisons of two neighbours, twice: to count, and to move."""
        count, parts = problem.count, self.units(problem)
        steps = -(-count // parts)
        return {
            "counts of parts": through(2 * count, parts, count, steps),
            "elements to their places": through(2 * count, count, count, steps),
        }


def in_parts(problem: Unique, parts: int, threads: int) -> Callable[..., None]:
    """``call(x, y, found)``, or a problem's with runs, in ``parts`` parts."""
    words = _runs.words_of(problem)
    order, more = (("int64",), ("int64",) * 3) if problem.runs else ((), ())
    count = cpu.Spread(_runs.counting(problem), (words.given, *order, "int64"))
    move = cpu.Spread(_runs.moving(problem), (words.given, *order, "int64", words.given, *more))
    sizes = np.array((problem.count, parts), np.int64)
    places = np.zeros(parts + 1, np.int64)
    turn = lock()

    def call(x: AnyArray, *others: AnyArray) -> None:
        *by, y, found = others[: 3 if problem.runs else 2]
        outputs = others[3:]
        given = words.viewed(x), *by
        with turn:
            places[0] = 0
            count((*given, places), sizes, parts, threads)
            np.cumsum(places, out=places)
            # The last output has the first places of runs, before it has their lengths.
            move((*given, places, words.viewed(y), *outputs), sizes, parts, threads)
            found[0] = runs = places[parts]
            for counts in outputs[2:]:
                counts[:runs] = np.diff(counts[:runs], append=problem.count)

    return call


STRATEGY = TwoPass()
