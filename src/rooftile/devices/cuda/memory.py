"""Memory of a GPU and of the host, which goes back to the driver when it is no longer held."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from rooftile.devices.cuda.driver import answer, call, current_context, library, set_context

_POOLS_SUPPORTED = 115
"""CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED."""
_RELEASE_THRESHOLD = 4
"""CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: bytes of unused memory that stay with the pool."""
_ALL = 2**64 - 1


class _Held:
    """Memory by its address, ``handle``, that a function of the driver frees."""

    def __init__(self, address: int, context: int, free: str, *more: Any) -> None:
        self.handle = address
        arguments = ctypes.c_void_p(address), *more
        # When Python ends, all of it goes with the process.
        weakref.finalize(self, _free, context, library()[free], arguments).atexit = False


def _free(context: int, function: Callable[..., int], arguments: Sequence[Any]) -> None:
    """Free memory from any thread: some of the driver's functions need the context."""
    before = current_context()
    if before != context:
        set_context(context)
    function(*arguments)
    if before != context:
        set_context(before)


class MemoryPool:
    """Memory in the order of streams, from the GPU's own pool, which other libraries share."""

    def __init__(self, device: int, context: int) -> None:
        self._context = context
        number = ctypes.c_int(device)
        self._ordered = bool(answer("cuDeviceGetAttribute", ctypes.c_int, _POOLS_SUPPORTED, number))
        if self._ordered:
            pool = ctypes.c_void_p(answer("cuDeviceGetMemPool", ctypes.c_void_p, number))
            threshold = ctypes.c_uint64()
            call("cuMemPoolGetAttribute", pool, _RELEASE_THRESHOLD, ctypes.byref(threshold))
            if not threshold.value:
                # Else all that nobody uses goes back at each wait for the GPU.
                threshold.value = _ALL
                call("cuMemPoolSetAttribute", pool, _RELEASE_THRESHOLD, ctypes.byref(threshold))

    def allocate(self, nbytes: int, stream: int) -> Any:
        """Memory for use on a stream, in whose order it is freed.  Raises `RuntimeError`."""
        if not self._ordered:
            return Alone(nbytes, self._context)
        size, on = ctypes.c_size_t(nbytes), ctypes.c_void_p(stream)
        address = answer("cuMemAllocAsync", ctypes.c_uint64, size, on)
        return _Held(address, self._context, "cuMemFreeAsync", on)


class Alone(_Held):
    """Memory that belongs to no stream: freeing it waits for the GPU."""

    def __init__(self, nbytes: int, context: int) -> None:
        """In the present context, which is this one.  Raises `RuntimeError`."""
        address = answer("cuMemAlloc_v2", ctypes.c_uint64, ctypes.c_size_t(nbytes))
        super().__init__(address, context, "cuMemFree_v2")


class Pinned(_Held):
    """Page-locked memory of the host, as bytes for NumPy, whose arrays keep it."""

    def __init__(self, nbytes: int, context: int) -> None:
        """In the present context, which is this one.  Raises `RuntimeError`."""
        address = answer("cuMemAllocHost_v2", ctypes.c_void_p, ctypes.c_size_t(nbytes))
        super().__init__(address, context, "cuMemFreeHost")
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
        }
