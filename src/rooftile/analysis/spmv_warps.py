"""Warps of a product of a sparse matrix with a vector, by format: the threads of a warp that work,
and the sectors that its loads touch.

A thread has a row. In CSR and JDS a warp's threads read entries a row apart, in ELL and transposed
JDS adjacent entries; in CSR and JDS threads wait for the longest row of their warp, in ELL none
waits, since padding is read too, and in JDS hardly any does, since rows are in the order of their
lengths.

Sources: PMPP, chapter 14; course notes on sparse matrices (32 rows of up to 10 entries).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import WARP
from rooftile.errors import unknown

Walked = Literal["csr", "ell", "jds", "jds_t"]
_BYTES = 4
"""Of a value, an index and an element of x."""


@dataclass(frozen=True)
class WarpLoads:
    """Loads of values, columns and elements of x, of all warps together."""

    steps: int
    """Entries that warps go through: the longest row of each, or the padded length."""
    working: int
    """Threads that have an entry, or read padding, in each of these steps."""
    matrix_sectors: int
    """Sectors that the loads of values touch; the loads of columns touch the same number."""
    x_sectors: int

    @property
    def lanes(self) -> float:
        """The share of threads that work while their warp does: 1, if none diverges."""
        return self.working / (WARP * self.steps) if self.steps else 1.0

    @property
    def used(self) -> float:
        """The share of the bytes of values' and columns' sectors that their load asks for:
        1, if loads are coalesced."""
        moved = self.matrix_sectors * SECTOR_BYTES
        return self.working * _BYTES / moved if moved else 1.0


def walk(rows: Sequence[Sequence[int]], form: Walked) -> WarpLoads:
    """The walk of warps over a matrix, of whose rows the columns are given.

    Raises `InputError` for another format.
    """
    if form not in get_args(Walked):
        raise unknown("form", form, get_args(Walked))
    jagged = form in ("jds", "jds_t")
    taken = sorted(rows, key=len, reverse=True) if jagged else list(rows)
    longest = max(map(len, taken), default=0)
    lengths = [longest] * len(taken) if form == "ell" else [len(row) for row in taken]
    place = _places(lengths, form)
    steps = working = matrix = found = 0
    for first in range(0, len(taken), WARP):
        lanes = range(first, min(first + WARP, len(taken)))
        for k in range(max(lengths[lane] for lane in lanes)):
            here = [lane for lane in lanes if lengths[lane] > k]
            # Padding points to column 0.
            columns = [taken[lane][k] if k < len(taken[lane]) else 0 for lane in here]
            steps, working = steps + 1, working + len(here)
            matrix += _sectors([place(lane, k) for lane in here])
            found += _sectors(columns)
    return WarpLoads(steps, working, matrix, found)


def _places(lengths: Sequence[int], form: Walked) -> Callable[[int, int], int]:
    """``place(row, k)``: the index of the k-th entry of a row, for rows of these lengths."""
    if form == "ell":
        return lambda row, k: k * len(lengths) + row
    if form == "jds_t":
        longer = Counter(k for length in lengths for k in range(length))
        sections = [0, *itertools.accumulate(longer[k] for k in sorted(longer))]
        return lambda row, k: sections[k] + row
    starts = [0, *itertools.accumulate(lengths)]
    return lambda row, k: starts[row] + k


def _sectors(elements: Sequence[int]) -> int:
    return len({element * _BYTES // SECTOR_BYTES for element in elements})
