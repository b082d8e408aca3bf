"""CUDA's driver, for the arrays that a foreign kernel is given on a GPU.  No rooftile in here.

CUDA is called through its driver and not through the library whose arrays these are: what
the kernel replaced in the library must not decide what is waited for or timed.
"""

from __future__ import annotations

import ctypes
from typing import Any

_DELAY_NS = 30_000_000
"""Inputs that arrive late do so after this time."""


class _Ipc(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_char * 64),)


class Driver:
    """The few functions of CUDA's driver that the arrays of a GPU need.

    Each raises `RuntimeError` where the driver refuses.  Streams and addresses are the driver's
    own handles, as integers.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        handle = _Ipc.from_buffer_copy(bytes.fromhex(request["ipc"]))
        base = ctypes.c_uint64()
        self.call("cuIpcOpenMemHandle_v2", ctypes.byref(base), handle, ctypes.c_uint(1))
        self.base = int(base.value)
        code, module = bytes.fromhex(request["delay"]), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), code)
        self._delay = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(self._delay), module, b"delay")
        self._marks = [ctypes.c_void_p() for _ in range(2)]
        for mark in self._marks:
            self.call("cuEventCreate", ctypes.byref(mark), ctypes.c_uint(0))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver by its name."""
        error = getattr(self._cuda, name)(*arguments)
        if error:
            raise RuntimeError(f"{name} failed with CUDA error {error}")

    def mark(self, which: int, stream: int) -> None:
        """Record mark 0 or mark 1 in a stream."""
        self.call("cuEventRecord", self._marks[which], ctypes.c_void_p(stream))

    def between(self) -> float:
        """Seconds from mark 0 to mark 1, which the device must have passed."""
        milliseconds = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), *self._marks)
        return 1e-3 * milliseconds.value

    def delay(self, stream: int) -> None:
        """Keep a stream busy for 30 ms."""
        wait = ctypes.c_uint64(_DELAY_NS)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(wait))
        ones = [ctypes.c_uint(1)] * 6
        self.call(
            "cuLaunchKernel",
            self._delay,
            *ones,
            ctypes.c_uint(0),
            ctypes.c_void_p(stream),
            arguments,
            None,
        )

    def copy(self, source: int, target: int, nbytes: int, stream: int) -> None:
        """Copy bytes on the device, in the order of a stream."""
        self.call(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(target),
            ctypes.c_uint64(source),
            ctypes.c_size_t(nbytes),
            ctypes.c_void_p(stream),
        )

    def wait(self) -> None:
        """Wait until the whole device is idle."""
        self.call("cuCtxSynchronize")
