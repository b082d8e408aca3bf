"""An NVIDIA GPU with the interface of `rooftile.devices.gpu`."""

from __future__ import annotations

import contextlib
import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda.branch import CudaBranch
from rooftile.devices.cuda.compile import compile_cubin, specific
from rooftile.devices.cuda.contexts import address_of
from rooftile.devices.cuda.description import bus_of, describe
from rooftile.devices.cuda.driver import (
    answer,
    call,
    current_context,
    is_capturing,
    set_context,
    while_capturing,
)
from rooftile.devices.cuda.event import Event, Mark
from rooftile.devices.cuda.graph import Graph, Stream, capture
from rooftile.devices.cuda.launches import CudaLaunches
from rooftile.devices.cuda.memory import Alone, MemoryPool, Pinned
from rooftile.devices.cuda.program import CudaProgram
from rooftile.devices.cuda.streams import CudaStream
from rooftile.devices.cuda.turns import Turns
from rooftile.devices.gpu import Described, Elapsed
from rooftile.devices.launches import Call, FillConstant
from rooftile.errors import OutOfMemory


class CudaDevice(Described):
    """One GPU with a stream of its own; `on` lends a thread a caller's stream for a while."""

    def __init__(self, index: int) -> None:
        """Its context becomes the thread's.  Raises `RuntimeError`."""
        number = ctypes.c_int(index)
        self._context: int = answer("cuDevicePrimaryCtxRetain", ctypes.c_void_p, number)
        set_context(self._context)
        self.own = Stream()
        self._pool = MemoryPool(index, self._context)
        self._thread = threading.local()
        self.description = describe(index)
        self.bus = bus_of(index)
        """Its PCI address, which the management library needs: it numbers GPUs differently."""

    @property
    def stream_address(self) -> int:
        """The stream that the calling thread's work goes to."""
        address: int = getattr(self._thread, "address", self.own.address)
        return address

    @property
    def own_stream(self) -> int:
        """The address of the device's own stream."""
        return self.own.address

    @property
    def context(self) -> int:
        """Its primary context, which other libraries share."""
        return self._context

    def is_current(self) -> bool:
        """True if the calling thread's context is this GPU's."""
        return current_context() == self._context

    def make_current(self) -> None:
        """Make its `context` the calling thread's."""
        set_context(self._context)

    def allocate(self, nbytes: int) -> Any:
        with self._out_of_memory(nbytes):
            return self._pool.allocate(max(4, nbytes), self.stream_address)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self.allocate(math.prod(shape) * dtype.itemsize)

    def allocate_alone(self, nbytes: int) -> Any:
        """Memory that belongs to no stream; freeing it waits for the device."""
        with self._out_of_memory(nbytes):
            return Alone(max(4, nbytes), self._context)

    @contextlib.contextmanager
    def _out_of_memory(self, nbytes: int) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            free = self._free_bytes()
            if nbytes > free or "OUT_OF_MEMORY" in str(error):
                raise OutOfMemory(nbytes, free, f"an array on {self.description.name}") from None
            raise

    def upload(self, array: NDArray[Any]) -> Any:
        buffer = self.allocate(array.nbytes)
        self.copy_in(array, buffer)
        return buffer

    def copy_in(self, array: NDArray[Any], buffer: Any) -> None:
        self._copy(address_of(buffer), array.ctypes.data, array.nbytes)

    def copy_out(self, buffer: Any, array: NDArray[Any]) -> None:
        self._copy(array.ctypes.data, address_of(buffer), array.nbytes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        places, size = (ctypes.c_uint64(to), ctypes.c_uint64(source)), ctypes.c_size_t(nbytes)
        call("cuMemcpyDtoDAsync_v2", *places, size, self._stream)

    def clear(self, to: int, nbytes: int) -> None:
        """Start to fill device memory, given by its address, with zeros on the present stream."""
        call("cuMemsetD8Async", ctypes.c_uint64(to), 0, ctypes.c_size_t(nbytes), self._stream)

    def address(self, memory: Any) -> int:
        return address_of(memory)

    def part(self, memory: Any, first: int, nbytes: int) -> int:
        return address_of(memory) + first

    def put(self, value: np.generic, memory: Any) -> None:
        """Write a number of 2, 4 or 8 bytes in the order of the present stream. It travels with the
        command, so that no wait is needed and a graph keeps it."""
        size = min(value.nbytes, 4)
        for i, word in enumerate(np.frombuffer(value.tobytes(), f"u{size}")):
            place, kind = address_of(memory) + size * i, (ctypes.c_ushort, ctypes.c_uint)[size // 4]
            once = kind(word), ctypes.c_size_t(1)
            call(f"cuMemsetD{8 * size}Async", ctypes.c_uint64(place), *once, self._stream)

    def pinned(self, count: int) -> NDArray[np.float32]:
        """``count`` float32 of page-locked host memory, which copies asynchronously."""
        return np.asarray(Pinned(4 * count, self._context)).view(np.float32)

    def compile(
        self, text: str, macros: Mapping[str, int | str], folders: Sequence[Path] = ()
    ) -> CudaProgram:
        code = compile_cubin(text, macros, specific(self.description.architecture), folders)
        return CudaProgram(self, code)

    def launches(self, work: Sequence[Call | FillConstant], names: Sequence[str]) -> CudaLaunches:
        # The driver loads kernels and constant arrays when they are first asked for.
        with self.while_capturing():
            return CudaLaunches(self, work, names)

    def turns(self) -> Turns:
        return Turns(self)

    def branch(self) -> CudaBranch:
        return CudaBranch(self, Stream())

    def synchronise(self) -> None:
        """See `GpuDevice.synchronise`: it waits for every stream of the device, not just ours."""
        with self.on():
            call("cuCtxSynchronize")

    @contextlib.contextmanager
    def timer(self) -> Iterator[Elapsed]:
        """See `GpuDevice.timer`: two events on the present stream, the device idle around them."""
        self.synchronise()
        elapsed, before = Elapsed(), self.mark()
        yield elapsed
        after = self.mark()
        after.sync()
        elapsed.milliseconds = after.since(before)
        self.synchronise()

    def stream(self) -> CudaStream:
        """A stream for copies that the host does not wait for."""
        return CudaStream(Stream())

    def capturing(self) -> bool:
        """True if the present stream is being captured into a graph."""
        return self.is_capturing(self.stream_address)

    def is_capturing(self, stream: int) -> bool:
        """True if a stream is being captured into a graph."""
        return is_capturing(stream)

    def while_capturing(self) -> contextlib.AbstractContextManager[None]:
        """Inside, this thread may do what a capture forbids, such as to load a program; nothing
        of it becomes part of the graph."""
        return while_capturing()

    def mark(self) -> Mark:
        return Mark(self.stream_address)

    def event(self) -> Event:
        """A point in streams, which moves."""
        with self.on():
            return Event()

    def between(self, before: Mark, after: Mark) -> float:
        return after.since(before)

    def captured(self, work: Callable[[], object]) -> Callable[[], object]:
        """See `GpuDevice.captured`: a graph, launched as a whole."""
        with self.capture() as graphs:
            work()

        def again(held: Callable[[], object] = work) -> None:
            # A graph does not hold the arrays and kernels that it uses; what launched them does.
            self.replay(graphs[0])

        return again

    def after(self, mark: Event) -> None:
        mark.delay(self.stream_address)

    def after_stream(self, address: int) -> None:
        """Work started from now on in the present stream waits for what another stream holds."""
        held = Event()
        held.record(address)
        held.delay(self.stream_address)

    def on(self, stream: int | None = None) -> contextlib.AbstractContextManager[None]:
        """Inside, this thread works on a caller's stream, given by its address. None stands for the
        device's own stream. The GPU is the thread's current one meanwhile."""
        return _On(self, self.own.address if stream is None else stream)

    @contextlib.contextmanager
    def capture(self) -> Iterator[list[Graph]]:
        """Record launches into a graph; after the block the list holds it."""
        with capture() as (stream, graphs), self.on(stream):
            yield graphs

    def replay(self, graph: Graph) -> None:
        """Launch a captured graph on the present stream."""
        graph.start(self.stream_address)

    @property
    def _stream(self) -> ctypes.c_void_p:
        """The present stream as `ctypes` takes it."""
        return ctypes.c_void_p(self.stream_address)

    def _copy(self, to: int, source: int, nbytes: int) -> None:
        places, stream = (ctypes.c_uint64(to), ctypes.c_uint64(source)), self._stream
        call("cuMemcpyAsync", *places, ctypes.c_size_t(nbytes), stream)
        call("cuStreamSynchronize", stream)

    def _free_bytes(self) -> int:
        free, entire = ctypes.c_size_t(), ctypes.c_size_t()
        call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(entire))
        return free.value


class _On:
    """While it is entered, the thread's context is the device's, and its work goes to a stream."""

    __slots__ = ("_address", "_before", "_context", "_device")

    def __init__(self, device: CudaDevice, address: int) -> None:
        self._device, self._address = device, address

    def __enter__(self) -> None:
        device = self._device
        self._context = current_context()
        if self._context != device._context:
            device.make_current()
        self._before = device.stream_address
        device._thread.address = self._address

    def __exit__(self, *raised: object) -> None:
        self._device._thread.address = self._before
        if self._context != self._device._context:
            set_context(self._context)
