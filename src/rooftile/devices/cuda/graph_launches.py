"""Launches that start as one graph, where the same buffers come again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rooftile.devices.cuda.driver import while_capturing
from rooftile.devices.cuda.graph import Graph, capture
from rooftile.devices.cuda.launches import CudaLaunches
from rooftile.devices.cuda.replay import GraphTable, new_table

if TYPE_CHECKING:
    from rooftile.devices.cuda.device import CudaDevice

_COMES_AGAIN = 2
"""Buffers that came so often before get a graph."""
MOST_GRAPHS = 16
PATIENCE = 1000
"""Starts without a graph before other addresses may have one."""
MOST_SEEN = 64


def graph_of(launches: CudaLaunches, buffers: Sequence[int]) -> Graph:
    """The graph of a start, in the present context."""
    # Another thread may be capturing a graph of the caller's.
    with while_capturing(), capture() as (stream, made):
        launches.start(buffers, stream)
    return made[0]


Replay = Callable[[list[int], int], bool | None]
"""``replay(buffers, stream)`` launches the graph of these addresses, and gives True; None where it
has not: there is no such graph, or it may not be launched by this thread on this stream now."""


class GraphLaunches:
    """Launches, started as a graph where their buffers have come before.

    A graph starts all of them for less than the price of one (on an H200's host 1.8 us, a launch
    4.1), and the GPU waits less between them.  It holds addresses: buffers that lie elsewhere have
    a graph of their own, once they have come a few times.
    """

    def __init__(self, launches: CudaLaunches, device: CudaDevice) -> None:
        self._launches, self._device = launches, device
        self.replay: Replay = _unknown
        """Asked before anything else: most calls need no more."""
        self._graphs: dict[tuple[int, ...], Graph] = {}
        self._dropped = self._graphs
        """The graphs before the present ones: a thread may be launching one."""
        self._table: GraphTable | None = None
        self._seen: dict[tuple[int, ...], int] = {}
        self._missed = 0
        """Starts in a row that might have had a graph, and found no room for it."""
        self._making = threading.Lock()

    def start(self, buffers: Sequence[int], stream: int) -> None:
        """See `CudaLaunches.start`; buffers are addresses, which `replay` did not launch.  The
        stream is not being captured."""
        key = tuple(buffers)
        if key not in self._graphs and self._comes_again(key):
            self._make(key)
        self._launches.start(buffers, stream)

    def _comes_again(self, key: tuple[int, ...]) -> bool:
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen[key] = count = self._seen.get(key, 0) + 1
        return count > _COMES_AGAIN

    def _make(self, key: tuple[int, ...]) -> None:
        with self._making:
            if key in self._graphs or not self._has_room():
                return
            graph = self._graphs[key] = graph_of(self._launches, key)
            if self.replay is _unknown:
                self._table = new_table(self._device.context, len(key), MOST_GRAPHS)
                self.replay = self._table.replay if self._table else self._replay
            if self._table is not None:
                self._table.add(key, graph.address)

    def _replay(self, buffers: list[int], stream: int) -> bool | None:
        """See `Replay`, where Python has no method of compiled code."""
        graph = self._graphs.get(tuple(buffers))
        if graph is None or not self._device.is_current() or self._device.is_capturing(stream):
            return None
        graph.start(stream)
        return True

    def _has_room(self) -> bool:
        """True if one more graph may be made, which takes as long as some dozens of launches."""
        if len(self._graphs) >= MOST_GRAPHS:
            self._missed += 1
            if self._missed < PATIENCE:
                return False
            if self._table is not None:
                self._table.clear()
            self._dropped, self._graphs = self._graphs, {}
        self._missed = 0
        return True


def _unknown(buffers: list[int], stream: int) -> None:
    """A `Replay` while there is no graph."""
