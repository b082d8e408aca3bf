"""`buckets`: the first pass makes buckets that fit into a core's cache.

The first 16 bits of all keys are counted.  Neighbouring values of them become buckets that hold
about as many words each, whatever the distribution; one pass moves words to their buckets, and
each bucket is sorted in the cache, by digits of the bits in which its keys differ.  Memory is read
three times and written twice, however many digits there are.

A bucket of one value of the first 16 bits that outgrows the cache is sorted as in `radix`.

Source: Maus, "ARL, a faster in-place, cache friendly sorting algorithm" (NIK 2002); Polychroniou,
Ross, "A Comprehensive Study of Main-Memory Partitioning and its Application to Large-Scale
Comparison- and Radix-Sort" (SIGMOD 2014).
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
from rooftile.strategies.sort.cpu import _buckets
from rooftile.strategies.sort.cpu._digits import Digits, end_kernel, problem_takes


class Buckets(HostStrategy):
    """Takes keys of up to 32 bits."""

    operation = "sort"
    name = "buckets"
    summary = "buckets of equal sizes by the first 16 bits, each sorted in a core's cache"
    takes = features(
        "axis descending dtype:bfloat16,bool,float16,int16,int32,int8,uint16,uint32,uint8 "
        "gives:pairs,places moves:float32"
    )

    def limits(self, problem: Sort) -> str | None:
        if problem.key_bytes > 4:
            return f"{problem.dtype}: keys have up to 32 bits"
        return problem_takes(problem)

    def units(self, problem: Sort) -> int:
        return max(problem.lines, min(_buckets.PARTS, problem.count // _buckets.LARGEST))

    def accesses(self, problem: Sort) -> Counted:
        """First bits are counted, words move to buckets, and each bucket is sorted in the cache, as
        if keys were random; a short line is one bucket."""
        count = problem.lines * problem.count
        bits, buckets = _buckets.planned(problem)
        passes = _buckets.passes_of(bits)
        digits = 1 << -(-bits // passes)
        steps = passes * problem.count / buckets / digits
        within = through((1 + passes) * count, passes * count, (1 + passes) * count, steps)
        if buckets == 1:
            return {"elements to words": through(count, count, count, 1), "in the cache": within}
        part = -(-problem.count // _buckets.PARTS)
        return {
            "counts of first bits": through(count, 0, count, part / buckets),
            "words to buckets": through(count, count, count, part / buckets),
            "buckets in the cache": within,
        }

    def prepare(
        self, problem: Sort, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return rows_of(problem, _Sorting(problem, threads))


class _Sorting:
    """Lines that lie one after the other."""

    def __init__(self, problem: Sort, threads: int) -> None:
        self._problem, self._threads = problem, threads
        self._words = words = Words(problem)
        self._cache = _buckets.InCache(words, threads)
        self._split = _buckets.Split(words, threads)
        self._digits, self._end = Digits(words, threads), end_kernel(words)

    def __call__(self, *arrays: AnyArray) -> None:
        problem, inputs = self._problem, len(self._problem.input_arrays)
        views = [self._words.viewed(array) for array in arrays]
        given, made = views[:inputs], views[inputs:]
        if problem.gives != "pairs":
            self._sorted(given, made[-1])
            return
        size, dtype = problem.lines * problem.count, np.dtype(self._words.held)
        with cpu.lent((size,), dtype, "words") as held:
            self._sorted(given, held)
            self._ended(held, made)

    def _sorted(self, given: list[AnyArray], held: AnyArray) -> None:
        """Fill ``held`` with the sorted words of all lines."""
        problem = self._problem
        if self._cache.alone:
            self._cache.lines(given, held, problem)
            return
        for line in range(problem.lines):
            part = slice(line * problem.count, (line + 1) * problem.count)
            self._line([one[part] for one in given], held[part])

    def _line(self, given: list[AnyArray], held: AnyArray) -> None:
        found = self._split(given, held)
        self._cache.buckets(held, found)
        for first, last in found.large():
            part = held[first:last]
            self._digits(part, np.empty_like(part), 1)
            if self._problem.gives != "pairs":
                self._ended(part, [])

    def _ended(self, held: AnyArray, made: list[AnyArray]) -> None:
        sizes = np.array((held.size, _buckets.SHARE, self._problem.count), np.int64)
        self._end((held, *made), sizes, -(-held.size // _buckets.SHARE), self._threads)


STRATEGY = Buckets()
