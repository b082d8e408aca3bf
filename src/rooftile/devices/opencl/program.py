"""An OpenCL device's built text, and its launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile._locks import lock
from rooftile.devices.gpu import Argument, Launch, Resources, check_launch
from rooftile.errors import UnsupportedProblem


class OpenclProgram:
    """A built text; constant arrays are buffers that launches pass as arguments."""

    def __init__(self, device: Any, build: Callable[..., Any]) -> None:
        self._device, self._build, self._program = device, build, build()
        self._constants: dict[str, Any] = {}
        self._kernels: dict[tuple[str, tuple[int, ...]], Any] = {}
        """Kernels by name, and by the block where they are built for one."""
        self._most: dict[str, int] = {}
        self._turn = lock()
        """Held from a kernel's first argument to its start: a kernel has one set of arguments."""

    def set_constant(self, name: str, values: NDArray[np.float32]) -> None:
        self._constants[name] = self._device.upload(np.ascontiguousarray(values))

    def fill_constant(self, name: str, source: Any, first: int, count: int) -> None:
        """Copy ``count`` float32 of a buffer, from element ``first`` on, to a constant array, in
        the order of the queue."""
        device = self._device
        self._constants[name] = device.allocate(4 * count)
        device._cl.enqueue_copy(
            device._queue, self._constants[name], source, src_offset=4 * first, byte_count=4 * count
        )

    def launch(self, launch: Launch, *arguments: Argument) -> None:
        check_launch(launch, self._device.description)
        cl = self._device._cl
        given = [*arguments, *(self._constants[name] for name in launch.constants)]
        if launch.shared_bytes:
            given.append(cl.LocalMemory(launch.shared_bytes))
        try:
            with self._turn:
                kernel = self._kernel_for(launch)
                kernel.set_args(*given)
                self._device.enqueue(kernel, launch)
        except cl.Error as error:
            if error.code != cl.status_code.INVALID_WORK_GROUP_SIZE:
                raise
            raise UnsupportedProblem(
                launch.kernel,
                f"its registers do not allow {launch.threads} threads a block "
                f"on {self._device.description.name}",
            ) from None

    def resources(self, launch: Launch) -> Resources:
        """See `Program.resources`; OpenCL tells of shared and private memory only."""
        cl, kernel = self._device._cl, self._kernel(launch.kernel)
        info, device = cl.kernel_work_group_info, self._device._device
        static = int(kernel.get_work_group_info(info.LOCAL_MEM_SIZE, device))
        return Resources(None, static + launch.shared_bytes, None, None)

    def _kernel_for(self, launch: Launch) -> Any:
        """A kernel that blocks of this size can run. Where the driver does not promise that, the
        kernel is built for the size: NVIDIA's driver promises 256 threads, whatever registers they
        take."""
        name = launch.kernel
        if launch.threads <= self._most_threads(name):
            return self._kernel(name)
        if (name, launch.block) not in self._kernels:
            size = ",".join(map(str, launch.block))
            program = self._build(f"-DGROUP_SIZE={size}")
            self._kernels[name, launch.block] = self._device._cl.Kernel(program, name)
        return self._kernels[name, launch.block]

    def _most_threads(self, name: str) -> int:
        """The largest block, in threads, for which the driver promises that the kernel runs."""
        if name not in self._most:
            info = self._device._cl.kernel_work_group_info.WORK_GROUP_SIZE
            found = self._kernel(name).get_work_group_info(info, self._device._device)
            self._most[name] = int(found)
        return self._most[name]

    def _kernel(self, name: str) -> Any:
        # Kept: PyOpenCL makes a new kernel object at each look-up.
        if (name, ()) not in self._kernels:
            self._kernels[name, ()] = self._device._cl.Kernel(self._program, name)
        return self._kernels[name, ()]
