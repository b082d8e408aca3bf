"""A compiled text on an NVIDIA GPU."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda.driver import answer, call, library, name_of
from rooftile.devices.gpu import Argument, Launch, Resources, check_launch
from rooftile.devices.launches import Call
from rooftile.errors import InputError, UnsupportedProblem

_DEFAULT_SHARED_BYTES = 48 * 1024
"""Shared memory, static and dynamic, that a kernel may have without asking."""
_ALL_PERCENT = 100
_THREADS, _SHARED, _LOCAL, _REGISTERS = 0, 1, 3, 4
_MOST_SHARED, _CARVEOUT = 8, 9
"""CUfunction_attribute of what a kernel takes and may have."""


class CudaProgram:
    """A loaded cubin; each has constant arrays of its own."""

    def __init__(self, device: Any, code: bytes) -> None:
        self._device = device
        load = answer("cuLibraryLoadData", ctypes.c_void_p, code, None, None, 0, None, None, 0)
        self._code = ctypes.c_void_p(load)
        weakref.finalize(self, library().cuLibraryUnload, self._code).atexit = False
        self._kernels: dict[str, ctypes.c_void_p] = {}
        self._allowed: dict[str, int] = {}

    def set_constant(self, name: str, values: NDArray[np.float32]) -> None:
        values = np.ascontiguousarray(values)
        to = self.constant_address(name, values.nbytes)
        self._device.copy_in(values, to)

    def constant_address(self, name: str, nbytes: int) -> int:
        """The address of a constant array of at least ``nbytes``. Raises `InputError`."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        places = ctypes.byref(address), ctypes.byref(size)
        call("cuLibraryGetGlobal", *places, self._code, name.encode())
        if nbytes > size.value:
            raise InputError(name, f"{nbytes} bytes", f"at most {size.value}")
        return address.value

    def launch(self, launch: Launch, *arguments: Argument) -> None:
        self._device.launches([Call(self, launch, arguments)], ()).start(())

    def launchable(self, launch: Launch) -> int:
        """The kernel's handle, once it may be launched so.  Raises `UnsupportedProblem`."""
        check_launch(launch, self._device.description)
        kernel = self._kernel(launch.kernel)
        self._allow_shared(launch, kernel)
        if launch.threads > (most := self._attribute(kernel, _THREADS)):
            registers = self._attribute(kernel, _REGISTERS)
            reason = f"{launch.threads} threads of {registers} registers, at most {most}"
            raise UnsupportedProblem(launch.kernel, reason)
        if launch.concurrent:
            call("cuFuncSetAttribute", _function(kernel), _CARVEOUT, _ALL_PERCENT)
        return kernel.value or 0

    def resources(self, launch: Launch) -> Resources:
        kernel = self._kernel(launch.kernel)
        self._allow_shared(launch, kernel)
        threads, most = launch.threads, self._device.description.threads_per_unit
        shared = ctypes.c_size_t(launch.shared_bytes)
        taken = kernel, ctypes.c_int(threads), shared
        occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        blocks = answer(occupancy, ctypes.c_int, *taken)
        return Resources(
            self._attribute(kernel, _REGISTERS),
            self._attribute(kernel, _SHARED) + launch.shared_bytes,
            self._attribute(kernel, _LOCAL),
            blocks * threads / most if most else None,
        )

    def _kernel(self, name: str) -> ctypes.c_void_p:
        if name not in self._kernels:
            found = answer("cuLibraryGetKernel", ctypes.c_void_p, self._code, name.encode())
            self._kernels[name] = ctypes.c_void_p(found)
        return self._kernels[name]

    def _attribute(self, kernel: ctypes.c_void_p, number: int) -> int:
        index = ctypes.c_int(self._device.description.index)
        found: int = answer("cuKernelGetAttribute", ctypes.c_int, number, kernel, index)
        return found

    def _allow_shared(self, launch: Launch, kernel: ctypes.c_void_p) -> None:
        """Ask for more dynamic shared memory than the kernel may have so far."""
        asked = launch.shared_bytes
        if launch.kernel not in self._allowed:
            static = self._attribute(kernel, _SHARED)
            self._allowed[launch.kernel] = _DEFAULT_SHARED_BYTES - static
        if asked <= self._allowed[launch.kernel]:
            return
        error = library().cuFuncSetAttribute(_function(kernel), _MOST_SHARED, asked)
        if error:
            reason = f"{asked} bytes of shared memory: {name_of(error)}"
            raise UnsupportedProblem(launch.kernel, reason)
        self._allowed[launch.kernel] = asked


def _function(kernel: ctypes.c_void_p) -> ctypes.c_void_p:
    """The kernel as the functions of the driver know it that set attributes."""
    return ctypes.c_void_p(answer("cuKernelGetFunction", ctypes.c_void_p, kernel))
