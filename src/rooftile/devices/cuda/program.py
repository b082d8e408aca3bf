"""A compiled text on an NVIDIA GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda.driver import checked, driver
from rooftile.devices.gpu import Argument, Launch, Resources, check_launch
from rooftile.devices.launches import Call
from rooftile.errors import InputError, UnsupportedProblem

_DEFAULT_SHARED_BYTES = 48 * 1024
"""Shared memory, static and dynamic, that a kernel may have without asking."""
_ALL_PERCENT = 100


class CudaProgram:
    """A loaded cubin; each has constant arrays of its own."""

    def __init__(self, device: Any, code: Any) -> None:
        self._device, self._code = device, code
        self._kernels: dict[str, Any] = {}
        self._allowed: dict[str, int] = {}

    def set_constant(self, name: str, values: NDArray[np.float32]) -> None:
        """See `Program.set_constant`."""
        values = np.ascontiguousarray(values)
        to = self.constant_address(name, values.nbytes)
        self._device.copy_in(values, to)

    def constant_address(self, name: str, nbytes: int) -> int:
        """Where a constant array begins that has room for so many bytes.  Raises `InputError`."""
        address, size = checked(driver().cuLibraryGetGlobal(int(self._code.handle), name.encode()))
        if nbytes > size:
            raise InputError(name, f"{nbytes} bytes", f"at most {size}")
        return int(address)

    def launch(self, launch: Launch, *arguments: Argument) -> None:
        """See `Program.launch`."""
        self._device.launches([Call(self, launch, arguments)], ()).start(())

    def launchable(self, launch: Launch) -> int:
        """The kernel's handle, once it may be launched so.  Raises `UnsupportedProblem`."""
        check_launch(launch, self._device.description)
        kernel = self._kernel(launch.kernel)
        self._allow_shared(launch, kernel)
        attributes = kernel.attributes
        if launch.threads > (most := int(attributes.max_threads_per_block)):
            reason = f"{launch.threads} threads of {attributes.num_regs} registers, at most {most}"
            raise UnsupportedProblem(launch.kernel, reason)
        if launch.beside:
            attributes = driver().CUfunction_attribute
            attribute = attributes.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            checked(driver().cuFuncSetAttribute(_function(kernel), attribute, _ALL_PERCENT))
        return int(kernel.handle)

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
        """Ask for more dynamic shared memory than the kernel may have so far."""
        asked = launch.shared_bytes
        if launch.kernel not in self._allowed:
            static = int(kernel.attributes.shared_size_bytes)
            self._allowed[launch.kernel] = _DEFAULT_SHARED_BYTES - static
        if asked <= self._allowed[launch.kernel]:
            return
        cu = driver()
        attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        error, *_ = cu.cuFuncSetAttribute(_function(kernel), attribute, asked)
        if int(error):
            raise UnsupportedProblem(launch.kernel, f"{asked} bytes of shared memory: {error.name}")
        self._allowed[launch.kernel] = asked


def _function(kernel: Any) -> Any:
    """The kernel as the functions of the driver know it that set attributes."""
    return checked(driver().cuKernelGetFunction(int(kernel.handle)))
