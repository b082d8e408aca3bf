"""Graphs by the addresses that they hold, launched by a method of compiled code, ``replay.c``.

Through `ctypes` the questions that a launch asks before, and the launch, take as long as the driver
takes for it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rooftile.devices.cpu.method import Method, address_of, usable
from rooftile.devices.cuda.driver import LEGACY_STREAM, library
from rooftile.devices.first_use import once


class Fields(ctypes.Structure):
    """``struct table`` of ``replay.c``."""

    _fields_ = (
        ("current_context", ctypes.c_void_p),
        ("is_capturing", ctypes.c_void_p),
        ("launch", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("never_captured", ctypes.c_void_p),
        ("addresses", ctypes.c_int64),
        ("graphs", ctypes.c_int64),
        ("rows", ctypes.c_void_p),
        ("given", ctypes.c_void_p),
        ("launching", ctypes.c_int64),
    )


class GraphTable:
    """The graphs that ``replay`` knows; the caller who adds them keeps them alive."""

    def __init__(self, method: Method, context: int, addresses: int, most: int) -> None:
        """Graphs of ``addresses`` addresses each, in a context."""
        rows, given = np.zeros((most, addresses + 1), np.int64), np.zeros(addresses, np.int64)
        driver = library()
        names = ("cuCtxGetCurrent", "cuStreamIsCapturing", "cuGraphLaunch")
        current, capturing, launch = (address_of(driver[name]) for name in names)
        self._rows = rows
        self._fields = Fields(
            current_context=current,
            is_capturing=capturing,
            launch=launch,
            context=context,
            never_captured=LEGACY_STREAM,
            addresses=addresses,
            rows=rows.ctypes.data,
            given=given.ctypes.data,
        )
        self.replay = method.on(self._fields, (rows, given))
        """See `rooftile.devices.cuda.graph_launches.Replay`."""

    def add(self, addresses: Sequence[int], graph: int) -> None:
        """Know a graph of these addresses."""
        number = self._fields.graphs
        self._rows[number] = *addresses, graph
        # Behind the row, which is whole then for a thread that looks at it.
        self._fields.graphs = number + 1

    def clear(self) -> None:
        """Know none any more."""
        self._fields.graphs = 0


def new_table(context: int, addresses: int, most: int) -> GraphTable | None:
    """A table for a number of graphs; None where no compiled methods serve."""
    return GraphTable(_method(), context, addresses, most) if usable() else None


@once
def _method() -> Method:
    return Method(Path(__file__).with_suffix(".ll"))
