"""Run kernels over the cores, one kernel after the other, a contiguous share of units a core.

Between two calls from Python lie a few microseconds, a tenth of the time that a small network takes
for one image; so several kernels are one call, in whose midst the cores meet without Python.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cpu.memory import address
from rooftile.devices.cpu.native import Native
from rooftile.devices.cpu.quick import Quick, Shapes, quick_call
from rooftile.devices.cpu.team import code, team
from rooftile.errors import InputError

FIELDS = (
    "entry",
    "units",
    "x",
    "nx",
    "weights",
    "nweights",
    "bias",
    "nbias",
    "out",
    "nout",
    "scratch",
    "nscratch",
    "sizes",
    "nsizes",
)
"""A row of a layer's kernel: addresses and element counts; ``scratch`` is the first thread's,
``nscratch`` each one's size."""
_UNITS = FIELDS.index("units")


class Entry(NamedTuple):
    """A kernel for arrays of certain dtypes: the C function ``entry(row, thread, begin, end)``."""

    kernel: Native
    dtypes: tuple[str, ...]
    scratch: bool = False

    @classmethod
    def of_layer(cls, kernel: Native) -> Entry:
        return cls(kernel, ("float32",) * 4, scratch=True)

    @property
    def address(self) -> int:
        """The entry's address; at the first call it is compiled or comes from the cache."""
        return self.kernel.address(self.dtypes, self.scratch)


def cores() -> int:
    """Number of working threads: the cores that the process may use, or ``ROOFTILE_NUM_THREADS``.

    Raises `InputError` where that is no positive number.
    """
    asked = os.environ.get("ROOFTILE_NUM_THREADS")
    if asked:
        if not asked.isdigit() or int(asked) < 1:
            raise InputError("ROOFTILE_NUM_THREADS", repr(asked), "a positive number")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class KernelSequence:
    """Kernels to be run one after the other.

    ``rows`` has one for each: its entry, its units, then address and number of elements of each
    array and of ``sizes``, and zeros up to the longest row's end.  The owner may change all but the
    entries between two runs, and keeps the arrays alive.
    """

    def __init__(self, entries: Sequence[Entry], rows: Sequence[Sequence[int]]) -> None:
        """``rows`` without the entries, and without zeros after them."""
        self._entries = tuple(entries)
        longest = max(map(len, rows))
        self._table: NDArray[np.int64] = np.zeros((len(rows), 1 + longest), np.int64)
        for into, row in zip(self._table, rows, strict=True):
            into[1 : 1 + len(row)] = row
        # To make C's numbers of Python's takes as long as a small kernel.
        self._place = tuple(map(ctypes.c_int64, (address(self._table), *self._table.shape)))
        # A number is put into a view of memory in half the time that NumPy takes.
        self.rows = [memoryview(row) for row in self._table]
        self._compiled = False

    def run(self, units: int, threads: int) -> None:
        """Do all units with ``threads`` threads; ``units`` is the most that a row has."""
        if not self._compiled:
            self._compile()
        if (threads := self._shared(units, threads)) <= 1:
            code().alone(*self._place)
        else:
            team(threads).run(*self._place)

    def quick(
        self,
        threads: int,
        shapes: Shapes,
        places: Sequence[int],
        kept: object,
        long: bool = False,
    ) -> Quick | None:
        """A whole call of Python's, see `quick_call`; the last row has the most units. ``places``
        say where in the rows the addresses of arrays of these shapes belong; all else is filled,
        and ``kept`` keeps what it points at. No other caller may run this from now on."""
        self._compile()
        threads = self._shared(self.rows[-1][_UNITS], threads)
        table = [number.value for number in self._place]
        return quick_call(table, threads, shapes, places, (self, kept), long)

    @staticmethod
    def _shared(units: int, threads: int) -> int:
        """Number of threads that share ``units`` units."""
        # A kernel of one unit is done before the other cores could be told of it.
        return 1 if units <= 1 else threads

    def _compile(self) -> None:
        self._table[:, 0] = [entry.address for entry in self._entries]
        self._compiled = True


def places(arrays: Sequence[NDArray[Any]]) -> list[int]:
    """Address and number of elements of each."""
    return [number for array in arrays for number in (address(array), array.size)]
