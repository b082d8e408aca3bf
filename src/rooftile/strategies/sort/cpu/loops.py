"""`loops`: runs are merged to runs of twice the length, on one thread.

A key and what moves along are words of 64 bits each, whatever the dtype: two of a line are compared
at a time, and the first of two equal ones goes first.  log2(count) times all of them are read and
written.

Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, source
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.sort import Sort, ordered
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.sort_words import rows_of

_TEXT = """
def merged(keys, along, to_keys, to_along, first, middle, last):
    a, b = first, middle
    for at in range(first, last):
        if b >= last or (a < middle and keys[a] <= keys[b]):
            to_keys[at] = keys[a]
            to_along[at] = along[a]
            a += 1
        else:
            to_keys[at] = keys[b]
            to_along[at] = along[b]
            b += 1

def kernel(keys, along, to_keys, to_along, sizes, begin, end):
    count, run = sizes[0], sizes[1]
    for line in range(begin, end):
        for first in range(line * count, line * count + count, 2 * run):
            after = line * count + count
            middle, last = min(first + run, after), min(first + 2 * run, after)
            merged(keys, along, to_keys, to_along, first, middle, last)
"""


@cache
def _kernel() -> Native:
    return source("sort_merge", _TEXT)


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "sort"
    name = "loops"
    parallel = False
    summary = "runs are merged to runs of twice the length, on one thread"
    takes = features("axis descending dtype:* gives:pairs,places moves:float32")

    def accesses(self, problem: Sort) -> Counted:
        """Keys with what moves along, once for each doubling of the runs: a comparison each."""
        passes = max(1, (problem.count - 1).bit_length())
        moved = passes * problem.lines * problem.count
        return {"merges": through(2 * moved, 2 * moved, moved, passes * problem.count)}

    def prepare(
        self, problem: Sort, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return rows_of(problem, _Merging(problem))


class _Merging:
    """Lines that lie one after the other."""

    def __init__(self, problem: Sort) -> None:
        self._problem = problem
        size = problem.lines * problem.count
        both = (
            cpu.aligned((size,), np.dtype(np.int64), "keys and what moves along") for _ in range(4)
        )
        self._keys, self._along, self._to_keys, self._to_along = both
        self._merge = cpu.Spread(_kernel(), ("int64",) * 4)
        self._turn = lock()

    def __call__(self, *arrays: AnyArray) -> None:
        problem = self._problem
        with self._turn:
            _, along = self._merged(*self._begun(arrays))
            if problem.gives == "places":
                arrays[-1].reshape(-1)[:] = along % problem.count
                return
            inputs = len(problem.input_arrays)
            for given, made in zip(arrays[:inputs], arrays[inputs:], strict=True):
                made.reshape(-1)[:] = given.reshape(-1)[along]

    def _begun(self, arrays: tuple[AnyArray, ...]) -> tuple[AnyArray, AnyArray]:
        """Keys as signed integers of 64 bits, and where each is."""
        keys = ordered(
            arrays[0].reshape(-1),
            zeros_equal=self._problem.gives == "places",
            descending=self._problem.descending,
        )
        signed = keys.view(np.int64) ^ np.int64(-(2**63)) if keys.itemsize == 8 else keys
        self._keys[:] = signed
        self._along[:] = np.arange(len(self._along))
        return self._keys, self._along

    def _merged(self, keys: AnyArray, along: AnyArray) -> tuple[AnyArray, AnyArray]:
        to_keys, to_along = self._to_keys, self._to_along
        run = 1
        while run < self._problem.count:
            sizes = np.array((self._problem.count, run), np.int64)
            self._merge((keys, along, to_keys, to_along), sizes, self._problem.lines, 1)
            keys, along, to_keys, to_along = to_keys, to_along, keys, along
            run *= 2
        return keys, along


STRATEGY = Loops()
