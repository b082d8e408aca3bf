"""Addresses of memory, and the context that a thread has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rooftile.devices.cuda.driver import current_context, set_context


def address_of(memory: Any) -> int:
    """The address of a buffer of ours; an address is given back as it is."""
    return memory if isinstance(memory, int) else int(memory.handle)


@contextlib.contextmanager
def kept_context() -> Iterator[None]:
    """After the block, the calling thread has the GPU that it had before: PyTorch and CuPy rely
    on it."""
    # No context is a value of 0, which must be restored too.  `find` tells of a missing driver.
    before = None
    with contextlib.suppress(OSError):
        before = current_context()
    try:
        yield
    finally:
        if before is not None and current_context() != before:
            set_context(before)
