"""Launches that start as one graph, where the same buffers come again."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence

from rooftile.devices.cuda.launches import CudaLaunches
from rooftile.devices.cuda.library import RELAXED, call, check, library, while_capturing

_NON_BLOCKING = 1
_COMES_AGAIN = 2
"""Buffers that came so often before get a graph."""
_MOST_GRAPHS = 16
_PATIENCE = 1000
"""So many starts without a graph, and others may have one."""
_MOST_SEEN = 64


class _Graph:
    """An executable graph of the driver's."""

    def __init__(self, launches: CudaLaunches, buffers: Sequence[int]) -> None:
        """In the present context.  Raises `RuntimeError`."""
        # Another thread may be capturing a graph of the caller's.
        with while_capturing():
            self._made = made = _instantiated(launches, buffers)
        # Its arguments are Python's integers, which would be cut to 32 bits otherwise.
        self._launch = library()["cuGraphLaunch"]
        self._launch.argtypes = ctypes.c_void_p, ctypes.c_void_p
        # The driver wants one thread at a time.
        self._turn = threading.Lock()
        # The driver frees a graph that still runs once it is done.
        weakref.finalize(self, library().cuGraphExecDestroy, made).atexit = False

    def start(self, stream: int) -> None:
        """Launch it."""
        with self._turn:
            code = self._launch(self._made, stream)
        if code:
            check(code)


def _instantiated(launches: CudaLaunches, buffers: Sequence[int]) -> ctypes.c_void_p:
    """The graph of a start."""
    stream, graph, made = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(_NON_BLOCKING))
    try:
        call("cuStreamBeginCapture_v2", stream, ctypes.c_int(RELAXED))
        try:
            launches.start(buffers, stream.value or 0)
        finally:
            call("cuStreamEndCapture", stream, ctypes.byref(graph))
        call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
        call("cuGraphDestroy", graph)
    finally:
        call("cuStreamDestroy_v2", stream)
    return made


class Replays:
    """Launches, started as a graph where their buffers have come before.

    A graph starts all of them for less than the price of one (on an H200's host 1.8 us, a launch
    4.1), and the GPU waits less between them.  It holds addresses: buffers that lie elsewhere have
    a graph of their own, once they have come a few times.
    """

    def __init__(self, launches: CudaLaunches) -> None:
        self._launches = launches
        self._graphs: dict[tuple[int, ...], _Graph] = {}
        self._seen: dict[tuple[int, ...], int] = {}
        self._missed = 0
        """Starts in a row that might have had a graph, and found no room for it."""
        self._making = threading.Lock()

    def start(self, buffers: Sequence[int], stream: int) -> None:
        """See `CudaLaunches.start`; buffers are addresses.  The stream is not being captured."""
        key = tuple(buffers)
        graph = self._graphs.get(key)
        if graph is None and self._comes_again(key):
            graph = self._make(key)
        if graph is None:
            self._launches.start(buffers, stream)
        else:
            graph.start(stream)

    def _comes_again(self, key: tuple[int, ...]) -> bool:
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[key] = count = self._seen.get(key, 0) + 1
        return count > _COMES_AGAIN

    def _make(self, key: tuple[int, ...]) -> _Graph | None:
        with self._making:
            graph = self._graphs.get(key)
            if graph is None and self._has_room():
                graph = self._graphs[key] = _Graph(self._launches, key)
            return graph

    def _has_room(self) -> bool:
        """Whether there may be one more: to make one takes as long as to launch some dozens."""
        if len(self._graphs) >= _MOST_GRAPHS:
            self._missed += 1
            if self._missed < _PATIENCE:
                return False
            self._graphs.clear()
        self._missed = 0
        return True
