"""`tables`: shares of x over the cores, several tables for each.

An increment waits for the one before where both go to the same bin: so neighbouring elements count
in different tables. Bytes come eight at a time and are counted by value; which values a bin holds
is looked up at the end.

Source: PMPP, section 9.4 (privatization).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Accesses, Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies import HostStrategy
from rooftile.strategies.histogram.cpu._bins import byte_counts, counting

_COPIES = 8
_SMALL = 1024
"""Bins of which several tables stay in the first cache."""
_PARTS = 16
_MOST_ROOM = 2**22
"""Numbers in all tables."""
_WORD = 8
"""Bytes that come at once."""


class Tables(HostStrategy):
    """Takes every problem."""

    operation = "histogram"
    name = "tables"
    summary = "shares of x over the cores, neighbours in different tables"
    takes = features("dtype:* edge_dtype:* edges sums:float64 weighted")

    def units(self, problem: Histogram) -> int:
        """Shares of x; they follow from the problem, so that sums do not depend on the machine."""
        room = _MOST_ROOM // (self._copies(problem) * problem.bins)
        return max(1, min(_PARTS, room, problem.count // _SMALL))

    def _copies(self, problem: Histogram) -> int:
        return _COPIES if problem.bins <= _SMALL else 1

    def prepare(
        self, problem: Histogram, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        parts, turn = self.units(problem), lock()
        if problem.dtype == "uint8" and not problem.weighted:
            count = _of_bytes(problem, parts, threads)
        else:
            count = counting(problem, parts, self._copies(problem), threads)

        def call(*arrays: AnyArray) -> None:
            with turn:
                arrays[-1][...] = count(arrays[:-1])

        return call

    def accesses(self, problem: Histogram) -> Counted:
        """A table for each part and each of neighbouring elements; then their sum."""
        bytes_ = problem.dtype == "uint8" and not problem.weighted
        bins, copies = (256, _WORD) if bytes_ else (problem.bins, self._copies(problem))
        tables = self.units(problem) * copies
        read = problem.count * (2 if problem.weighted else 1)
        equal = problem.count / tables
        evenly = max(1.0, equal / bins)
        made = through(read, problem.count, problem.count, evenly)
        return {
            "increments": made + Accesses(turns=evenly, turns_if_equal=equal),
            "sum of the tables": through(tables * bins, bins, tables * bins, tables),
        }


def _of_bytes(problem: Histogram, parts: int, threads: int) -> Callable[..., AnyArray]:
    """``count(inputs)`` by values first."""
    spread = cpu.Spread(byte_counts, ("int64", "int64"))
    tables = cpu.aligned((parts * _WORD, 256), np.dtype(np.int64), "histograms of shares")
    values = np.arange(256, dtype=np.uint8)

    def count(inputs: tuple[AnyArray, ...]) -> AnyArray:
        x = inputs[0]
        lead = min(-cpu.address(x) % _WORD, x.size)
        words = (x.size - lead) // _WORD
        end = lead + words * _WORD
        tables[...] = 0
        if words:
            sizes = np.array((words, parts), np.int64)
            spread((x[lead:end].view(np.int64), tables), sizes, parts, threads)
        counts: AnyArray = tables.sum(axis=0)
        counts += np.bincount(np.concatenate((x[:lead], x[end:])), minlength=256)
        edges = inputs[1] if problem.edges else problem.even_edges
        found = np.searchsorted(edges, values, side="right") - 1
        found[values == edges[-1]] = problem.bins - 1
        inside = (found >= 0) & (found < problem.bins)
        made = np.zeros(problem.bins, np.int64)
        np.add.at(made, found[inside], counts[inside])
        return made

    return count


STRATEGY = Tables()
