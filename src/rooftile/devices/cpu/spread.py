"""Run a kernel on the cores, over any number of arrays of any dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cpu.memory import address
from rooftile.devices.cpu.native import Native
from rooftile.devices.cpu.parallel import Entry, KernelSequence
from rooftile.devices.cpu.quick import Quick, Shapes


@lru_cache(maxsize=1024)
def sizes_of(*numbers: int) -> NDArray[np.int64]:
    """Kernel sizes as int64, as a kernel reads them; the same array for the same numbers."""
    made = np.array(numbers, np.int64)
    made.flags.writeable = False
    return made


class Spread:
    """A kernel for arrays of these dtypes; ``call(arrays, sizes, units, threads)`` runs it.

    See `rooftile.devices.cpu.native.program` for what a kernel is.  Any number of threads may call.
    """

    def __init__(self, kernel: Native, dtypes: Sequence[str]) -> None:
        self._entry = Entry(kernel, tuple(dtypes))
        self._numbers = 1 + 2 * (len(dtypes) + 1)
        self._waiting: list[KernelSequence] = []

    @property
    def native(self) -> tuple[Native, tuple[str, ...], bool]:
        """The kernel, the dtypes of its arrays, and whether it has scratch: none."""
        return self._entry.kernel, self._entry.dtypes, self._entry.scratch

    def __call__(
        self, arrays: Sequence[NDArray[Any]], sizes: NDArray[np.int64], units: int, threads: int
    ) -> None:
        """Do all units; each thread does a contiguous share.  The arrays must be contiguous."""
        try:
            work = self._waiting.pop()
        except IndexError:
            work = KernelSequence([self._entry], [[0] * self._numbers])
        row, at = work.rows[0], 2
        row[1] = units
        for array in (*arrays, sizes):
            row[at], row[at + 1] = address(array), array.size
            at += 2
        work.run(units, threads)
        self._waiting.append(work)

    def quick(
        self,
        sizes: NDArray[np.int64],
        units: int,
        threads: int,
        shapes: Shapes,
        long: bool = False,
    ) -> Quick | None:
        """A whole call of Python's on float32 arrays of these shapes, the result last; see
        `quick_call`."""
        row = [units]
        for shape in shapes:
            row += [0, math.prod(shape)]
        places = range(2, 2 + 2 * len(shapes), 2)
        work = KernelSequence([self._entry], [[*row, address(sizes), sizes.size]])
        return work.quick(threads, shapes, places, sizes, long)
