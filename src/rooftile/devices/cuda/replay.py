"""Graphs by the addresses that they hold, launched by a method of compiled code, `replay.ll`.

Through `ctypes` the questions that a launch asks before, and the launch, take as long as the driver
takes for it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rooftile.devices.cpu.method import Method, address_of, lies_as_known
from rooftile.devices.cuda.library import LEGACY_STREAM, library
from rooftile.devices.first_use import once

_GRAPHS, _ROOM = 14, 16
"""Words of `replay.ll`: how many graphs there are, and where the room for the addresses begins."""


class Table:
    """The graphs that ``replay`` knows; whoever adds them keeps them."""

    def __init__(self, method: Method, context: int, addresses: int, most: int) -> None:
        """Graphs of so many addresses each, in a context."""
        rows = np.zeros((most, addresses + 1), np.int64)
        words = np.zeros(_ROOM + addresses, np.int64)
        head = [id(None), id(True), *_pythons(), *_drivers(context), 0]
        words[: len(head)] = head
        words[_GRAPHS - 1 : _ROOM] = addresses, 0, rows.ctypes.data
        self._rows, self._words = rows, words
        self.replay = method.on(words, rows)
        """See `rooftile.devices.cuda.replays.Replay`."""

    def add(self, addresses: Sequence[int], graph: int) -> None:
        """Know a graph of these addresses."""
        number = int(self._words[_GRAPHS])
        self._rows[number] = *addresses, graph
        # Behind the row, which is whole then for whoever looks at it.
        self._words[_GRAPHS] = number + 1

    def clear(self) -> None:
        """Know none any more."""
        self._words[_GRAPHS] = 0


def new_table(context: int, addresses: int, most: int) -> Table | None:
    """A table for so many graphs; None where Python's objects lie otherwise than `replay.ll` has
    them."""
    return Table(_method(), context, addresses, most) if lies_as_known() else None


@once
def _method() -> Method:
    return Method(Path(__file__).with_suffix(".ll"))


def _pythons() -> list[int]:
    """The words for what is Python's."""
    api = ctypes.pythonapi
    calls = api.PyLong_AsUnsignedLongLong, api.PyEval_SaveThread, api.PyEval_RestoreThread
    return [address_of(api.Py_IncRef), id(int), *map(address_of, calls)]


def _drivers(context: int) -> list[int]:
    """The words for what is the driver's."""
    driver = library()
    names = "cuCtxGetCurrent", "cuStreamIsCapturing", "cuGraphLaunch"
    current, capturing, launch = (address_of(driver[name]) for name in names)
    return [current, context, capturing, LEGACY_STREAM, launch]
