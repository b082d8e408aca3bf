"""`radix`: by digits of 8 bits, the least significant first; no elements are compared.

It removes the comparisons, and log2(count) passes become one for each byte of a key: histogram,
scan, scatter. Each of them reads all words twice and writes them once.

Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.5; PMPP, sections 13.3 and 13.5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.sort_words import Words, rows_of
from rooftile.strategies.sort.cpu._digits import (
    DIGIT_BITS,
    DIGITS,
    Digits,
    begin_kernel,
    end_kernel,
    parts_of,
    problem_takes,
)

_SHARE = 2**14
"""Words that become, or were, elements: a unit's."""


class Radix(HostStrategy):
    """Takes what fits into words of 64 bits."""

    operation = "sort"
    name = "radix"
    summary = "digits of 8 bits, the least significant first: histogram, scan, scatter"
    takes = features("axis descending dtype:* gives:pairs,places moves:float32")

    def limits(self, problem: Sort) -> str | None:
        return problem_takes(problem)

    def units(self, problem: Sort) -> int:
        return problem.lines * parts_of(problem.count, problem.lines)

    def accesses(self, problem: Sort) -> Counted:
        """Words are made; for each digit read to be counted, and again to be moved; and become
        results."""
        count, words = problem.lines * problem.count, Words(problem)
        passes, parts = -(-words.bits // DIGIT_BITS), parts_of(problem.count, problem.lines)
        share, tables = -(-problem.count // parts), parts * DIGITS
        return {
            "elements to words": through(count, count, count, 1),
            "counts of digits": through(passes * count, 0, passes * count, passes * share / DIGITS),
            "scans of counts": through(
                passes * problem.lines * tables,
                passes * problem.lines * tables,
                passes * problem.lines * tables,
                passes * tables,
            ),
            "words to their places": through(
                passes * count, passes * count, passes * count, passes * share / DIGITS
            ),
            "words to results": through(count, count, count, 1),
        }

    def prepare(
        self, problem: Sort, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return rows_of(problem, _Sorting(problem, threads))


class _Sorting:
    """Lines that lie one after the other."""

    def __init__(self, problem: Sort, threads: int) -> None:
        words = Words(problem)
        size = problem.lines * problem.count
        self._problem, self._words, self._threads = problem, words, threads
        self._begin, self._end = begin_kernel(words), end_kernel(words)
        self._digits = Digits(words, threads)
        self._sizes = np.array((size, _SHARE, problem.count), np.int64)
        self._shares = -(-size // _SHARE)

    def __call__(self, *arrays: AnyArray) -> None:
        words, inputs = self._words, len(self._problem.input_arrays)
        views = [words.viewed(array) for array in arrays]
        pairs = self._problem.gives == "pairs"
        size, dtype = self._problem.lines * self._problem.count, np.dtype(words.held)
        with (
            cpu.lent((size,), dtype, "words") as room,
            cpu.lent((size if pairs else 0,), dtype, "words") as own,
        ):
            held = own if pairs else views[-1]
            self._begin((*views[:inputs], held), self._sizes, self._shares, self._threads)
            self._digits(held, room, self._problem.lines)
            made = views[inputs:] if pairs else []
            self._end((held, *made), self._sizes, self._shares, self._threads)


STRATEGY = Radix()
