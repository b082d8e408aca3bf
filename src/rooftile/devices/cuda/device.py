"""An NVIDIA GPU behind the interface of `rooftile.devices.gpu`."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda.branch import CudaBranch
from rooftile.devices.cuda.compile import compile_cubin, cuda_core, specific
from rooftile.devices.cuda.description import describe
from rooftile.devices.cuda.driver import address_of, checked, driver, driver_call
from rooftile.devices.cuda.launches import CudaLaunches
from rooftile.devices.cuda.library import (
    current_context,
    is_capturing,
    set_context,
    while_capturing,
)
from rooftile.devices.cuda.program import CudaProgram
from rooftile.devices.cuda.streams import CudaStream
from rooftile.devices.cuda.turns import Turns
from rooftile.devices.gpu import Described, Elapsed
from rooftile.devices.launches import Call, FillConstant
from rooftile.errors import OutOfMemory


class CudaDevice(Described):
    """One GPU with a stream of its own; `on` lends a thread a caller's stream for a while."""

    def __init__(self, device: Any, index: int) -> None:
        self._core = cuda_core()
        self._device = device
        device.set_current()
        self._context = current_context()
        self._own_stream = device.create_stream()
        self._own_address = int(self._own_stream.handle)
        self._thread = threading.local()
        self.description = describe(device, index)
        self.bus = str(device.pci_bus_id)
        """Its PCI address, which the management library needs: it numbers GPUs differently."""

    @property
    def stream_address(self) -> int:
        """The stream that the calling thread's work goes to."""
        address: int = getattr(self._thread, "address", self._own_address)
        return address

    @property
    def _stream(self) -> Any:
        """The same as an object of cuda-core."""
        given = getattr(self._thread, "stream", self._own_stream)
        if given is None:
            given = self._device.create_stream(_Stream(self._thread.address))
        return given

    @property
    def own_stream(self) -> int:
        """The address of the device's own stream."""
        return self._own_address

    @property
    def context(self) -> int:
        """Its primary context, which other libraries share."""
        return self._context

    def is_current(self) -> bool:
        """Whether the calling thread is on it."""
        return current_context() == self._context

    def make_current(self) -> None:
        """Make its `context` the calling thread's."""
        self._device.set_current()

    def allocate(self, nbytes: int) -> Any:
        """See `GpuDevice.allocate`."""
        with self._out_of_memory(nbytes):
            return self._device.allocate(max(4, nbytes), stream=self._stream)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """See `Device.empty`."""
        return self.allocate(math.prod(shape) * dtype.itemsize)

    def allocate_synchronously(self, nbytes: int) -> Any:
        """The address of memory that belongs to no stream; ``cuMemFree`` waits for the device."""
        with self._out_of_memory(nbytes):
            return driver_call("cuMemAlloc", max(4, nbytes))

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
        """See `GpuDevice.upload`."""
        buffer = self.allocate(array.nbytes)
        self.copy_in(array, buffer)
        return buffer

    def copy_in(self, array: NDArray[Any], buffer: Any) -> None:
        """See `GpuDevice.copy_in`."""
        self._copy(address_of(buffer), array.ctypes.data, array.nbytes)

    def copy_out(self, buffer: Any, array: NDArray[Any]) -> None:
        """See `GpuDevice.copy_out`."""
        self._copy(array.ctypes.data, address_of(buffer), array.nbytes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """See `GpuDevice.copy`."""
        driver_call("cuMemcpyDtoDAsync", to, source, nbytes, self.stream_address)

    def clear(self, to: int, nbytes: int) -> None:
        """Start to fill device memory, given by its address, with zeros on the present stream."""
        driver_call("cuMemsetD8Async", to, 0, nbytes, self.stream_address)

    def address(self, memory: Any) -> int:
        """See `GpuDevice.address`."""
        return address_of(memory)

    def part(self, memory: Any, first: int, nbytes: int) -> int:
        """See `GpuDevice.part`."""
        return address_of(memory) + first

    def put(self, value: np.generic, memory: Any) -> None:
        """Write a number of 2, 4 or 8 bytes in the order of the present stream.

        It travels with the command, so that nobody waits for it and a graph keeps it.
        """
        size = min(value.nbytes, 4)
        for i, word in enumerate(np.frombuffer(value.tobytes(), f"u{size}")):
            place = address_of(memory) + size * i
            driver_call(f"cuMemsetD{8 * size}Async", place, int(word), 1, self.stream_address)

    def pinned(self, count: int) -> NDArray[np.float32]:
        """``count`` float32 of page-locked host memory, which copies asynchronously."""
        memory = self._core.LegacyPinnedMemoryResource().allocate(4 * count)
        return np.from_dlpack(memory).view(np.float32)[:count]

    def compile(
        self, text: str, macros: Mapping[str, int | str], folders: Sequence[Path] = ()
    ) -> CudaProgram:
        """See `GpuDevice.compile`."""
        code = compile_cubin(text, macros, specific(self.description.architecture), folders)
        return CudaProgram(self, self._core.ObjectCode.from_cubin(code))

    def launches(self, work: Sequence[Call | FillConstant], names: Sequence[str]) -> CudaLaunches:
        """See `GpuDevice.launches`."""
        # The driver loads kernels and constant arrays when they are first asked for.
        with self.while_capturing():
            return CudaLaunches(self, work, names)

    def turns(self) -> Turns:
        """See `GpuDevice.turns`."""
        return Turns(self)

    def branch(self) -> CudaBranch:
        """See `GpuDevice.branch`."""
        return CudaBranch(self, self._device.create_stream())

    def synchronise(self) -> None:
        """See `GpuDevice.synchronise`: it waits for every stream of the device, not just ours."""
        self._device.sync()

    @contextlib.contextmanager
    def timer(self) -> Iterator[Elapsed]:
        """See `GpuDevice.timer`: two events on the present stream, the device idle around them."""
        options = self._core.EventOptions(timing_enabled=True)
        self._device.sync()
        elapsed = Elapsed()
        before = self._stream.record(options=options)
        yield elapsed
        after = self._stream.record(options=options)
        after.sync()
        elapsed.milliseconds = float(after - before)
        self._device.sync()

    def stream(self) -> CudaStream:
        """A stream beside the device's own, for copies that the host does not wait for."""
        return CudaStream(self._device.create_stream())

    def capturing(self) -> bool:
        """Whether the present stream is being recorded into a graph."""
        return self.is_capturing(self.stream_address)

    def is_capturing(self, stream: int) -> bool:
        """Whether a stream is being recorded into a graph."""
        return is_capturing(stream)

    def while_capturing(self) -> contextlib.AbstractContextManager[None]:
        """Inside, this thread may do what a capture forbids, such as to load a program; nothing
        of it becomes part of the graph."""
        return while_capturing()

    def mark(self) -> Any:
        """See `GpuDevice.mark`."""
        return self._stream.record(options=self._core.EventOptions(timing_enabled=True))

    def between(self, before: Any, after: Any) -> float:
        """See `GpuDevice.between`."""
        return float(after - before)

    def captured(self, work: Callable[[], object]) -> Callable[[], object]:
        """See `GpuDevice.captured`: a graph, launched as a whole."""
        with self.capture() as graphs:
            work()

        def again(held: Callable[[], object] = work) -> None:
            # A graph does not hold the arrays and kernels that it uses; what launched them does.
            self.replay(graphs[0])

        return again

    def after(self, mark: Any) -> None:
        """See `GpuDevice.after`."""
        self._stream.wait(mark)

    def after_stream(self, address: int) -> None:
        """Work started from now on in the present stream waits for what another stream holds."""
        self._stream.wait(self._core.Stream.from_handle(address))

    def on(self, stream: int | None = None) -> contextlib.AbstractContextManager[None]:
        """Inside, this thread works on a caller's stream, given by its address.

        None stands for the device's own stream.  The GPU is the thread's current one meanwhile.
        """
        if stream is None:
            return _On(self, self._own_address, self._own_stream)
        return _On(self, stream, None)

    @contextlib.contextmanager
    def capture(self) -> Iterator[list[Any]]:
        """Record launches into a graph; after the block the list holds it."""
        builder = self._device.create_graph_builder()
        builder.begin_building()
        graphs: list[Any] = []
        try:
            with _On(self, int(builder.__cuda_stream__()[1]), builder):
                yield graphs
        finally:
            builder.end_building()
        graphs.append(builder.complete())

    def replay(self, graph: Any) -> None:
        """Launch a captured graph on the present stream."""
        graph.launch(self._stream)

    def _copy(self, to: int, source: int, nbytes: int) -> None:
        cu = driver()
        handle = self.stream_address
        checked(cu.cuMemcpyAsync(to, source, nbytes, handle))
        checked(cu.cuStreamSynchronize(handle))

    def _free_bytes(self) -> int:
        free, _ = checked(driver().cuMemGetInfo())
        return int(free)


class _Stream:
    """A stream of another library by its address."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


class _On:
    """While it is entered, the thread's context is the device's, and its work goes to a stream."""

    __slots__ = ("_before", "_context", "_device", "_given")

    def __init__(self, device: CudaDevice, address: int, stream: Any) -> None:
        """``stream`` is of cuda-core; None where only its address is known."""
        self._device, self._given = device, (address, stream)

    def __enter__(self) -> None:
        device, thread = self._device, self._device._thread
        self._context = current_context()
        if self._context != device._context:
            device.make_current()
        own = device._own_address, device._own_stream
        self._before = getattr(thread, "address", own[0]), getattr(thread, "stream", own[1])
        thread.address, thread.stream = self._given

    def __exit__(self, *raised: object) -> None:
        thread = self._device._thread
        thread.address, thread.stream = self._before
        if self._context != self._device._context:
            set_context(self._context)
