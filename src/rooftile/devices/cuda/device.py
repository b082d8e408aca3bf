"""An NVIDIA GPU behind the interface of `rooftile.devices.gpu`."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda.compile import INSTALL, compile_cubin, cuda_core, specific
from rooftile.devices.cuda.description import describe
from rooftile.devices.cuda.driver import address_of, checked, driver, driver_call, kept_context
from rooftile.devices.cuda.streams import CudaStream
from rooftile.devices.cuda.tensor_map import tensor_map
from rooftile.devices.gpu import (
    Argument,
    Described,
    Elapsed,
    Launch,
    Resources,
    TensorMap,
    check_launch,
)
from rooftile.errors import DeviceMissing, InputError, OutOfMemory, UnsupportedProblem

_DEFAULT_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory that a kernel may have without asking."""


def find() -> list[Any]:
    """Every NVIDIA GPU that the driver shows.  Raises `DeviceMissing`."""
    core = cuda_core()
    try:
        devices = list(core.Device.get_all_devices())
    except Exception as error:
        # No driver library, or one that refuses: both reach us as classes private to cuda-core.
        raise DeviceMissing(
            f"a working NVIDIA driver (libcuda.so.1): {error}", "NVIDIA's driver for the GPU"
        ) from None
    if not devices:
        raise DeviceMissing(
            "an NVIDIA GPU: the driver shows none", "a GPU, or CUDA_VISIBLE_DEVICES"
        )
    return devices


def open_device(index: int = 0) -> CudaDevice:
    """The GPU of this number; the calling thread now works on it.

    Raises `DeviceMissing`, `InputError`.
    """
    device = _opened(index)
    device.make_current()
    return device


@cache
def _opened(index: int) -> CudaDevice:
    devices = find()
    if not 0 <= index < len(devices):
        raise InputError("device", f"cuda:{index}", f"cuda:0 to cuda:{len(devices) - 1}")
    try:
        return CudaDevice(devices[index], index)
    except Exception as error:
        # The GPU's memory is full, or another process has the GPU for itself; the classes of these
        # errors are private to cuda-core.
        raise DeviceMissing(
            f"GPU cuda:{index}: it does not open ({error})", "nothing; free it, or name another"
        ) from None


class CudaDevice(Described):
    """One GPU with a stream of its own; `on` lends a thread a caller's stream for a while."""

    def __init__(self, device: Any, index: int) -> None:
        self._core = cuda_core()
        self._device = device
        device.set_current()
        self._own_stream = device.create_stream()
        self._thread = threading.local()
        self.description = describe(device, index)
        self.bus = str(device.pci_bus_id)
        """Its PCI address, which the management library needs: it numbers GPUs differently."""

    @property
    def _stream(self) -> Any:
        """The stream that the calling thread's work goes to."""
        return getattr(self._thread, "stream", self._own_stream)

    @_stream.setter
    def _stream(self, stream: Any) -> None:
        self._thread.stream = stream

    @property
    def own_stream(self) -> int:
        """The address of the device's own stream."""
        return int(self._own_stream.handle)

    def make_current(self) -> None:
        """Make its primary context, which other libraries share, the calling thread's."""
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

    def put(self, value: np.generic, memory: Any) -> None:
        """Write a number of 4 or 8 bytes in the order of the present stream.

        It travels with the command, so that nobody waits for it and a graph keeps it.
        """
        for i, word in enumerate(np.frombuffer(value.tobytes(), np.uint32)):
            place = address_of(memory) + 4 * i
            driver_call("cuMemsetD32Async", place, int(word), 1, self._stream.handle)

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

    def tensor_map(self, memory: Any, layout: TensorMap) -> Any:
        """See `GpuDevice.tensor_map`; the maps of the last arrays are kept."""
        return tensor_map(address_of(memory), layout)

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
        error, status = driver().cuStreamIsCapturing(self._stream.handle)
        # The legacy default stream gives an error while another one is captured.
        return not int(error) and bool(int(status))

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

    @contextlib.contextmanager
    def on(self, stream: Any = None) -> Iterator[None]:
        """Inside, this thread works on a caller's stream, any object with ``__cuda_stream__``.

        None stands for the device's own stream.  The GPU is the thread's current one meanwhile.
        """
        with kept_context():
            self.make_current()
            before = self._stream
            given = self._own_stream if stream is None else self._device.create_stream(stream)
            self._stream = given
            try:
                yield
            finally:
                self._stream = before

    @contextlib.contextmanager
    def capture(self) -> Iterator[list[Any]]:
        """Record launches into a graph; after the block the list holds it."""
        own, builder = self._stream, self._device.create_graph_builder()
        builder.begin_building()
        graphs: list[Any] = []
        self._stream = builder
        try:
            yield graphs
        finally:
            self._stream = own
            builder.end_building()
        graphs.append(builder.complete())

    def replay(self, graph: Any) -> None:
        """Launch a captured graph on the present stream."""
        graph.launch(self._stream)

    def enqueue(self, kernel: Any, launch: Launch, arguments: tuple[Argument, ...]) -> None:
        """Start a kernel on the present stream."""
        config = self._core.LaunchConfig(
            grid=launch.grid, block=launch.block, shmem_size=launch.shared_bytes
        )
        self._core.launch(self._stream, config, kernel, *arguments)

    def _copy(self, to: int, source: int, nbytes: int) -> None:
        cu = driver()
        handle = self._stream.handle
        checked(cu.cuMemcpyAsync(to, source, nbytes, handle))
        checked(cu.cuStreamSynchronize(handle))

    def _free_bytes(self) -> int:
        free, _ = checked(driver().cuMemGetInfo())
        return int(free)


class CudaProgram:
    """A loaded cubin; each has constant arrays of its own."""

    def __init__(self, device: CudaDevice, code: Any) -> None:
        self._device, self._code = device, code
        self._kernels: dict[str, Any] = {}
        self._raised: dict[str, int] = {}

    def set_constant(self, name: str, values: NDArray[np.float32]) -> None:
        """See `Program.set_constant`."""
        values = np.ascontiguousarray(values)
        address, size = checked(driver().cuLibraryGetGlobal(int(self._code.handle), name.encode()))
        if values.nbytes > size:
            raise InputError(name, f"{values.nbytes} bytes", f"at most {size}")
        self._device._copy(int(address), values.ctypes.data, values.nbytes)

    def fill_constant(self, name: str, source: Any, first: int, count: int) -> None:
        """See `Program.fill_constant`."""
        cu = driver()
        address, size = checked(cu.cuLibraryGetGlobal(int(self._code.handle), name.encode()))
        if 4 * count > size:
            raise InputError(name, f"{4 * count} bytes", f"at most {size}")
        start = address_of(source) + 4 * first
        stream = self._device._stream.handle
        checked(cu.cuMemcpyAsync(int(address), start, 4 * count, stream))

    def launch(self, launch: Launch, *arguments: Argument) -> None:
        """See `Program.launch`."""
        check_launch(launch, self._device.description)
        kernel = self._kernel(launch.kernel)
        self._allow_shared(launch, kernel)
        self._device.enqueue(kernel, launch, arguments)

    def resources(self, launch: Launch) -> Resources:
        """See `Program.resources`."""
        kernel = self._kernel(launch.kernel)
        self._allow_shared(launch, kernel)
        attributes = kernel.attributes
        threads, most = launch.threads, self._device.description.threads_per_unit
        blocks = kernel.occupancy.max_active_blocks_per_multiprocessor(threads, launch.shared_bytes)
        return Resources(
            int(attributes.num_regs),
            int(attributes.shared_size_bytes) + launch.shared_bytes,
            int(attributes.local_size_bytes),
            blocks * threads / most if most else None,
        )

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            self._kernels[name] = self._code.get_kernel(name)
        return self._kernels[name]

    def _allow_shared(self, launch: Launch, kernel: Any) -> None:
        """Ask, once for each kernel, for more than 48 KiB of dynamic shared memory."""
        asked = launch.shared_bytes
        if asked <= max(_DEFAULT_SHARED_BYTES, self._raised.get(launch.kernel, 0)):
            return
        cu = driver()
        attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        function = checked(cu.cuKernelGetFunction(int(kernel.handle)))
        error, *_ = cu.cuFuncSetAttribute(function, attribute, asked)
        if int(error):
            raise UnsupportedProblem(launch.kernel, f"{asked} bytes of shared memory: {error.name}")
        self._raised[launch.kernel] = asked


__all__ = ["INSTALL", "CudaDevice", "CudaProgram", "find", "open_device"]
