"""`halves`: keys of 64 bits are sorted by their low halves, and then by their high ones.

A key of 64 bits and a place do not fit into one word.  Each half does, and an order by the high
halves that leaves equal ones where they were is that of the whole keys.  Keys that differ in
their low halves only, above the least key, are sorted once.

Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, source
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.sort_words import Words, rows_of
from rooftile.strategies.sort.cpu import buckets

_SHARE = 2**14
"""Elements of a unit."""
_SPLIT = """
{words}
def kernel(x, low, high, sizes, begin, end):
    size, share = sizes[0], sizes[1]
    for i in range(begin * share, min(size, end * share)):
        key = key_from(x[i])
        low[i] = key
        high[i] = key >> 32
"""
_TAKE = """
def kernel(given, places, made, sizes, begin, end):
    size, share, count = sizes[0], sizes[1], sizes[2]
    first = begin * share // count * count
    after = first + count
    for i in range(begin * share, min(size, end * share)):
        if i >= after:
            first, after = after, after + count
        made[i] = given[first + places[i]]
"""


class Halves(HostStrategy):
    """Takes keys of 64 bits with what moves along."""

    operation = "sort"
    name = "halves"
    summary = "keys of 64 bits: by the low halves, then by the high ones, each as in buckets"
    takes = features("axis descending dtype:float64,int64,uint64 gives:pairs,places moves:float32")

    def limits(self, problem: Sort) -> str | None:
        if problem.key_bytes < 8 or problem.gives == "values":
            return f"{problem.dtype}, {problem.gives}: it is for 64 bits and what moves along"
        return None

    def units(self, problem: Sort) -> int:
        return buckets.STRATEGY.units(_half(problem))

    def accesses(self, problem: Sort) -> Counted:
        """Each half is a sort of its own, after which its places are followed."""
        count = problem.lines * problem.count
        parts = buckets.STRATEGY.accesses(_half(problem))
        sorts = {
            f"{half}: {name}": part for half in ("low", "high") for name, part in parts.items()
        }
        split = {"halves of keys": through(count, 2 * count, count, 1)}
        return split | sorts | {"places followed": through(4 * count, 2 * count, 0, 1)}

    def prepare(
        self, problem: Sort, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        words, order, inputs = Words(problem), _Order(problem, threads), len(problem.input_arrays)

        def call(*arrays: AnyArray) -> None:
            x = words.viewed(arrays[0])
            if problem.gives == "places":
                order(x, arrays[-1].reshape(-1))
                return
            places = np.empty(x.shape, np.int64)
            order(x, places)
            places.reshape(problem.lines, -1)[...] += (
                problem.count * np.arange(problem.lines)[:, None]
            )
            for given, made in zip(arrays[:inputs], arrays[inputs:], strict=True):
                np.take(given.reshape(-1), places, out=made.reshape(-1))

        return rows_of(problem, call)


def _half(problem: Sort) -> Sort:
    return Sort((problem.lines, problem.count), dtype="uint32", gives="places")


class _Order:
    """``order(x)``: where the elements of each line are, in their order."""

    def __init__(self, problem: Sort, threads: int) -> None:
        words, half = Words(problem), _half(problem)
        self._shape, self._threads = half.shape, threads
        self._sorted = buckets.STRATEGY.prepare(half, (), threads)
        split = source("sort_halves", _SPLIT.format(words=words.text))
        self._split = cpu.Spread(split, (words.given, "int32", "int32"))
        self._take32 = cpu.Spread(_take(), ("int32", "int64", "int32"))
        self._take64 = cpu.Spread(_take(), ("int64", "int64", "int64"))

    def __call__(self, x: AnyArray, places: AnyArray) -> None:
        """Fill ``places``, int64, of x's shape."""
        lines, count = self._shape
        sizes = np.array((lines * count, _SHARE, count), np.int64)
        run = sizes, -(-x.size // _SHARE), self._threads
        with (
            cpu.lent((2, x.size), np.dtype(np.int32), "halves of keys") as (low, high),
            cpu.lent((x.size,), np.dtype(np.int64), "places") as behind,
        ):
            self._split((x, low, high), *run)
            if (high == high[0]).all():
                self._sorted(low, places)
                return
            self._sorted(low, behind)
            self._take32((high, behind, low), *run)
            own = np.empty_like(behind)
            self._sorted(low, own)
            self._take64((behind, own, places), *run)


@cache
def _take() -> Native:
    return source("sort_take", _TAKE)


STRATEGY = Halves()
