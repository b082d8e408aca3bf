"""The driver's start and a GPU's context: a fifth of a second in which Python may do other things.

`ctypes` is all that it takes, and gives Python's lock away meanwhile: what uses the GPU is imported
beside it.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from functools import cache


@cache
def waking(index: int) -> threading.Thread:
    """The thread that makes the primary context of the GPU of this number, and keeps it.

    Where there is no driver, or no such GPU, it ends; whoever opens the GPU tells.
    """
    thread = threading.Thread(target=_wake, args=(index,), name=f"waking cuda:{index}")
    thread.start()
    return thread


def _wake(index: int) -> None:
    with contextlib.suppress(OSError):
        driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if not driver.cuInit(0) and not driver.cuDeviceGet(ctypes.byref(device), index):
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
