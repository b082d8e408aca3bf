"""Kernels of `partition`: whether an element goes before the pivot, how many do, where all go."""

from __future__ import annotations

from functools import cache

from rooftile.devices.cpu.native import Native, source
from rooftile.ops.patterns.partition import Partition
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.problem import Dtype
from rooftile.strategies.common.sort_words import Words

_LESS = """
{words}
def less(x, key, i):
    return np.where(goes_before(key_from(x[i]), key), 1, 0)
"""
_COUNT = """
def kernel(x, pivot, places, sizes, begin, end):
    count, parts, key = sizes[0], sizes[1], key_from(pivot[0])
    for part in range(begin, end):
        found = 0
        for i in range(count * part // parts, count * (part + 1) // parts):
            found += less(x, key, i)
        places[part + 1] = found
"""
# An element's place is selected and not jumped to: no branch is guessed.
_MOVE = """
def kernel(x, pivot, places, y, sizes, begin, end):
    count, parts, key = sizes[0], sizes[1], key_from(pivot[0])
    for part in range(begin, end):
        first = count * part // parts
        low = places[part]
        high = places[parts] + first - low
        for i in range(first, count * (part + 1) // parts):
            one = less(x, key, i)
            y[np.where(one == 1, low, high)] = x[i]
            low += one
            high += 1 - one
"""


def words_of(problem: Partition) -> Words:
    """Keys of which equal elements have equal ones."""
    return Words(Sort((1,), dtype=problem.dtype, gives="places"))


@cache
def _less(dtype: Dtype) -> str:
    return _LESS.format(words=words_of(Partition(1, dtype)).text)


def counting(problem: Partition) -> Native:
    """``count(x, pivot, places, sizes)`` writes how many elements of part p go before the pivot to
    ``places[p + 1]``."""
    return source("partition_count", _less(problem.dtype) + _COUNT)


def moving(problem: Partition) -> Native:
    """``move(x, pivot, places, y, sizes)`` moves every element; ``places[p]`` is the number of
    elements before part p that go before the pivot."""
    return source("partition_move", _less(problem.dtype) + _MOVE)
