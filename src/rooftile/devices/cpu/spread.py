"""Run a kernel on the cores, over any number of arrays of any dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cpu.native import Native
from rooftile.devices.cpu.parallel import Entry, Work, places


class Spread:
    """A kernel for arrays of these dtypes; ``call(arrays, sizes, units, threads)`` runs it.

    See `rooftile.devices.cpu.native.program` for what a kernel is.
    """

    def __init__(self, kernel: Native, dtypes: Sequence[str]) -> None:
        self._entry = Entry(kernel, tuple(dtypes))

    def __call__(
        self, arrays: Sequence[NDArray[Any]], sizes: NDArray[np.int64], units: int, threads: int
    ) -> None:
        """Do all units; each thread does a contiguous share.  The arrays must be contiguous."""
        Work([self._entry], [(units, *places((*arrays, sizes)))]).run(units, threads)
