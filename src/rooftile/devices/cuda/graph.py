"""A captured stream's work, as one launch."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections.abc import Iterator

from rooftile.devices.cuda.driver import RELAXED, answer, call, check, library

_NON_BLOCKING = 1


class Stream:
    """A stream of ours, which does not wait for CUDA's default one."""

    def __init__(self) -> None:
        """In the present context."""
        self.address: int = answer("cuStreamCreate", ctypes.c_void_p, ctypes.c_uint(_NON_BLOCKING))
        # The driver frees a stream that still has work once that is done.
        destroy = library().cuStreamDestroy_v2
        weakref.finalize(self, destroy, ctypes.c_void_p(self.address)).atexit = False


class Graph:
    """An executable graph of the driver's; it does not hold the memory and kernels it uses."""

    def __init__(self, graph: ctypes.c_void_p) -> None:
        """From what was captured."""
        flags = ctypes.c_ulonglong(0)
        made = answer("cuGraphInstantiateWithFlags", ctypes.c_void_p, graph, flags)
        self.address: int = made
        # Its arguments are Python's integers, which would be cut to 32 bits otherwise.
        self._launch = library()["cuGraphLaunch"]
        self._launch.argtypes = ctypes.c_void_p, ctypes.c_void_p
        # The driver wants one thread at a time.
        self._turn = threading.Lock()
        # The driver frees a graph that still runs once it is done.
        destroy = library().cuGraphExecDestroy
        weakref.finalize(self, destroy, ctypes.c_void_p(made)).atexit = False

    def start(self, stream: int) -> None:
        """Launch it."""
        with self._turn:
            code = self._launch(self.address, stream)
        if code:
            check(code)


@contextlib.contextmanager
def capture() -> Iterator[tuple[int, list[Graph]]]:
    """The address of a stream, and a list that holds the graph of what it was given, after the
    block."""
    stream, graph, made = Stream(), ctypes.c_void_p(), list[Graph]()
    on = ctypes.c_void_p(stream.address)
    call("cuStreamBeginCapture_v2", on, ctypes.c_int(RELAXED))
    try:
        yield stream.address, made
    finally:
        call("cuStreamEndCapture", on, ctypes.byref(graph))
    try:
        made.append(Graph(graph))
    finally:
        call("cuGraphDestroy", graph)
