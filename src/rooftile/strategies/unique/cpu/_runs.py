"""Kernels of `unique`: whether an element begins a run, how many do, and where they go."""

from __future__ import annotations

from functools import cache

from rooftile.devices.cpu.native import Native, source
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.patterns.unique import Unique
from rooftile.ops.problem import Dtype
from rooftile.strategies.common.sort_words import Words

_BEGINS = """
{words}
def begins(x, i):
    if i == 0:
        return 1
    return np.where(key_from(x[i]) != key_from(x[i - 1]), 1, 0)

def begins_in_order(x, order, i):
    if i == 0:
        return 1
    return np.where(key_from(x[order[i]]) != key_from(x[order[i - 1]]), 1, 0)
"""
_COUNT = """
def kernel(x, places, sizes, begin, end):
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        found = 0
        for i in range(count * part // parts, count * (part + 1) // parts):
            found += begins(x, i)
        places[part + 1] = found
"""
# Every element is stored, and the next one over it unless it begins a run: no branch is guessed.
_MOVE = """
def kernel(x, places, y, sizes, begin, end):
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        i, place, last = count * part // parts, places[part], places[part + 1]
        while place < last:
            y[place] = x[i]
            place += begins(x, i)
            i += 1
"""
_COUNT_IN_ORDER = """
def kernel(x, order, places, sizes, begin, end):
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        found = 0
        for i in range(count * part // parts, count * (part + 1) // parts):
            found += begins_in_order(x, order, i)
        places[part + 1] = found
"""
_MOVE_IN_ORDER = """
def kernel(x, order, places, y, index, inverse, firsts, sizes, begin, end):
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        number = places[part]
        for i in range(count * part // parts, count * (part + 1) // parts):
            at = order[i]
            if begins_in_order(x, order, i):
                y[number] = x[at]
                index[number] = at
                firsts[number] = i
                number += 1
            inverse[at] = number - 1
"""


def words_of(problem: Unique) -> Words:
    """Keys of which equal elements have equal ones."""
    return Words(Sort((1,), dtype=problem.dtype, gives="places"))


@cache
def _begins(dtype: Dtype) -> str:
    return _BEGINS.format(words=words_of(Unique(1, dtype)).text)


def counting(problem: Unique) -> Native:
    """``count(x, [order,] places, sizes)`` writes how many runs begin in part p to
    ``places[p + 1]``."""
    text = _COUNT_IN_ORDER if problem.runs else _COUNT
    return source("unique_count", _begins(problem.dtype) + text)


def moving(problem: Unique) -> Native:
    """``move(x, places, y, sizes)`` writes the first elements of runs of part p to y, from
    ``places[p]`` on; ``move(x, order, places, y, index, inverse, firsts, sizes)`` also where they
    are in x and in its order, and the number of each element's run."""
    text = _MOVE_IN_ORDER if problem.runs else _MOVE
    return source("unique_move", _begins(problem.dtype) + text)
