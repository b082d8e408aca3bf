"""An OpenCL device with the interface of `rooftile.devices.gpu`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rooftile._files import keep
from rooftile._locks import lock
from rooftile.devices.cache import cache_directory
from rooftile.devices.first_use import imported, once
from rooftile.devices.gpu import (
    Described,
    Elapsed,
    Launch,
    key_of,
    macro_lines,
    prelude,
)
from rooftile.devices.launches import Call, FillConstant, PlainLaunches
from rooftile.devices.opencl.binaries import built
from rooftile.devices.opencl.description import describe
from rooftile.devices.opencl.program import OpenclProgram
from rooftile.devices.opencl.quiet import unheard
from rooftile.devices.opencl.vendors import (
    INSTALL,
    announce_wheels,
    compilers_words,
    unfit,
)
from rooftile.devices.text import whole
from rooftile.errors import (
    CompileFailure,
    DeviceMissing,
    InputError,
    OutOfMemory,
)

if TYPE_CHECKING:
    import pyopencl

OPTIONS = ("-cl-std=CL1.2", "-w")
"""Without warnings, which PoCL's compiler counts on the terminal."""
_BUILT = 128
"""Programs that a device keeps built: a text that is bound anew is not built anew."""
_building = lock()
"""Held by a thread that builds: not every driver's compiler is made for threads."""


def _pyopencl() -> Any:
    try:
        return imported("pyopencl")
    except ImportError as error:
        raise DeviceMissing(f"PyOpenCL ({error})", INSTALL) from None


def find() -> list[Any]:
    """Every OpenCL device that can compile, GPUs first.  Raises `DeviceMissing` without one."""
    cl, devices = _pyopencl(), _all_devices()
    reasons = [unfit(cl, device) for device in devices]
    usable = [one for one, reason in zip(devices, reasons, strict=True) if reason is None]
    if not usable:
        raise next(reason for reason in reasons if reason is not None)
    return sorted(usable, key=lambda d: not d.type & cl.device_type.GPU)


def passed_over() -> list[DeviceMissing]:
    """Why devices that are there are not used, one error each.  Raises `DeviceMissing`."""
    cl = _pyopencl()
    reasons = (unfit(cl, device) for device in _all_devices())
    return [reason for reason in reasons if reason is not None]


def _all_devices() -> list[Any]:
    cl = _pyopencl()
    announce_wheels()
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise DeviceMissing(
            f"an OpenCL driver: the loader read its .icd files and found none that works ({error})",
            f"{INSTALL}; or a vendor's driver, whose .icd file the folder OCL_ICD_VENDORS names",
        ) from None
    devices: list[Any] = []
    for platform in platforms:
        with contextlib.suppress(cl.Error):
            # A platform without devices says so by an error.
            devices += platform.get_devices()
    if not devices:
        names = ", ".join(platform.name for platform in platforms)
        raise DeviceMissing(f"a device of the OpenCL platforms {names or '(none)'}", INSTALL)
    return devices


@once
def open_device(index: int = 0) -> OpenclDevice:
    """The OpenCL device of this number.  Raises `DeviceMissing`, `InputError`."""
    devices = find()
    if not 0 <= index < len(devices):
        raise InputError("device", f"opencl:{index}", f"opencl:0 to opencl:{len(devices) - 1}")
    try:
        return OpenclDevice(devices[index], index)
    except _pyopencl().Error as error:
        name = devices[index].name.strip()
        raise DeviceMissing(f"OpenCL device {name}: it does not open ({error})", INSTALL) from None


class OpenclDevice(Described):
    """One device with a context and a queue that times its events."""

    def __init__(self, device: pyopencl.Device, index: int) -> None:
        cl = self._cl = _pyopencl()
        self._device = device
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(
            self._context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )
        self._events: list[Any] | None = None
        self._built = lru_cache(maxsize=_BUILT)(partial(self._build, keeping=True))
        self.description = describe(cl, device, index)

    @property
    def place(self) -> tuple[int, int]:
        """The number of its platform, and its own among that platform's devices."""
        platforms = self._cl.get_platforms()
        number = platforms.index(self._device.platform)
        return number, platforms[number].get_devices().index(self._device)

    def allocate(self, nbytes: int) -> Any:
        if nbytes > self._device.max_mem_alloc_size:
            raise OutOfMemory(
                nbytes, self._device.max_mem_alloc_size, f"an array on {self.description.name}"
            )
        try:
            return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, max(4, nbytes))
        except self._cl.MemoryError:
            free = self.description.memory_bytes
            raise OutOfMemory(nbytes, free, self._an_array) from None

    @property
    def _an_array(self) -> str:
        return f"an array on {self.description.name}"

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self.allocate(math.prod(shape) * dtype.itemsize)

    def upload(self, array: NDArray[Any]) -> Any:
        buffer = self.allocate(array.nbytes)
        self.copy_in(array, buffer)
        return buffer

    def copy_in(self, array: NDArray[Any], buffer: Any) -> None:
        self._cl.enqueue_copy(self._queue, buffer, array, is_blocking=True)

    def copy_out(self, buffer: Any, array: NDArray[Any]) -> None:
        self._cl.enqueue_copy(self._queue, array, buffer, is_blocking=True)

    def compile(
        self,
        text: str,
        macros: Mapping[str, int | str],
        folders: Sequence[Path] = (),
        *,
        plain: bool = False,
    ) -> OpenclProgram:
        """See `GpuDevice.compile`; binaries are kept in the user's cache.

        Headers are put in place here: PoCL finds none in a folder with a space in its name, and
        not every driver's own cache notices that one has changed.

        ``plain``: without the prelude, and kept nowhere, for a text that is not ours.
        """
        source = macro_lines(macros) + ("" if plain else prelude()) + whole(text, folders)
        build = partial(self._build, keeping=False) if plain else self._built
        return OpenclProgram(self, partial(build, source, *OPTIONS))

    def _build(self, source: str, *options: str, keeping: bool) -> Any:
        directory = cache_directory() / "opencl"
        try:
            # Some compilers talk even of success.
            with _building, unheard(self._cl.CompilerWarning):
                folder = directory if keeping else None
                return built(self._cl, self._context, self._device, source, options, folder)
        except self._cl.RuntimeError as error:
            kept = directory / f"failed_{key_of(source)}.cl"
            keep(kept, source.encode())
            raise CompileFailure("OpenCL C text", compilers_words(str(error)), str(kept)) from None

    def launches(self, work: Sequence[Call | FillConstant], names: Sequence[str]) -> PlainLaunches:
        return PlainLaunches(work, names)

    def address(self, memory: Any) -> Any:
        """See `GpuDevice.address`: buffers of OpenCL have none."""
        return memory

    def copy(self, to: Any, source: Any, nbytes: int) -> None:
        self._cl.enqueue_copy(self._queue, to, source, byte_count=nbytes)

    def part(self, memory: Any, first: int, nbytes: int) -> Any:
        return memory.get_sub_region(first, nbytes)

    def turns(self) -> contextlib.AbstractContextManager[object]:
        """See `GpuDevice.turns`: there is one queue."""
        return lock()

    def branch(self) -> OneQueue:
        """See `GpuDevice.branch`: there is one queue."""
        return OneQueue()

    def synchronise(self) -> None:
        self._queue.finish()

    @contextlib.contextmanager
    def timer(self) -> Iterator[Elapsed]:
        """From the start of the first launch inside to the end of the last, by their events."""
        self._queue.finish()
        elapsed, self._events = Elapsed(), []
        try:
            yield elapsed
            self._queue.finish()
            if self._events:
                first, last = self._events[0].profile, self._events[-1].profile
                elapsed.milliseconds = (last.end - first.start) * 1e-6
        finally:
            self._events = None

    def mark(self) -> Any:
        return self._cl.enqueue_marker(self._queue)

    def after(self, mark: Any) -> None:
        """See `GpuDevice.after`: the queue keeps its order."""

    def on(self, stream: Any = None) -> contextlib.AbstractContextManager[None]:
        """See `GpuDevice.on`: there is one queue."""
        return contextlib.nullcontext()

    def between(self, before: Any, after: Any) -> float:
        return float(after.profile.end - before.profile.end) * 1e-6

    def captured(self, work: Callable[[], object]) -> Callable[[], object]:
        """See `GpuDevice.captured`: OpenCL has no graphs."""
        return work

    def enqueue(self, kernel: Any, launch: Launch) -> None:
        """Start a kernel whose arguments are set."""
        total = tuple(g * b for g, b in zip(launch.grid, launch.block, strict=True))
        event = self._cl.enqueue_nd_range_kernel(self._queue, kernel, total, launch.block)
        if self._events is not None:
            self._events.append(event)


class OneQueue:
    """See `rooftile.devices.gpu.Branch`: what comes later waits for everything before it."""

    concurrent = False

    def aside(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def join(self) -> None: ...

    def mark(self, number: int) -> None: ...

    def wait(self, number: int) -> None: ...
