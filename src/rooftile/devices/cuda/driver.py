"""CUDA's driver, through NVIDIA's bindings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rooftile.devices.first_use import imported


def driver() -> Any:
    """The module of the driver's functions, which return an error and their values."""
    return imported("cuda.bindings.driver")


def address_of(memory: Any) -> int:
    """The address of a buffer of ours; an address is given back as it is."""
    return memory if isinstance(memory, int) else int(memory.handle)


def driver_call(function: str, *arguments: Any) -> Any:
    """What a function of CUDA's driver gives.  Raises `RuntimeError` where it gives an error."""
    return checked(getattr(driver(), function)(*arguments))


def checked(result: Any) -> Any:
    """The values of a driver call; an error is a fault of ours, so it keeps its traceback."""
    error, *values = result
    if int(error):
        raise RuntimeError(f"CUDA driver call failed: {error.name}")
    return values[0] if len(values) == 1 else values


@contextlib.contextmanager
def kept_context() -> Iterator[None]:
    """After the block, the calling thread has the GPU that it had before: PyTorch and CuPy rely
    on it."""
    # No context is a value of 0, which must be restored too.  `find` tells of a missing driver.
    before = None
    with contextlib.suppress(Exception):
        error, context = driver().cuCtxGetCurrent()
        before = None if int(error) else context
    try:
        yield
    finally:
        if before is not None:
            checked(driver().cuCtxSetCurrent(before))
