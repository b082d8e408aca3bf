"""The driver's start and a GPU's context: a fifth of a second in which Python may do other things.

The thread needs `ctypes` alone and releases the GIL, so that the modules that use the GPU are
imported meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from functools import cache


@cache
def waking(index: int) -> threading.Thread:
    """The thread that makes the primary context of a GPU by its number, and keeps it.

    Without a driver or such a GPU it ends silently; the caller who opens the GPU raises.
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
