"""Sizes of grids and blocks of GPU strategies."""

from __future__ import annotations

import numpy as np

MOST_BLOCKS = 65535
"""Blocks of a grid in y and z: kernels loop over the images beyond."""

PORTABLE_SHARED_BYTES = 48 * 1024
"""Shared memory that a block may have on every GPU without asking for it."""
CONSTANT_BYTES = 64 * 1024
"""Constant memory of a text, on every GPU."""

_MOST_THREADS = 1024


def beyond_block(threads: int, shared_bytes: int = 0) -> str | None:
    """The reason why no block has ``threads`` threads and ``shared_bytes``; None where every
    device's has."""
    if threads > _MOST_THREADS:
        return f"{threads} threads a block, at most {_MOST_THREADS}"
    if shared_bytes > PORTABLE_SHARED_BYTES:
        return f"{shared_bytes} bytes of shared memory, at most {PORTABLE_SHARED_BYTES}"
    return None


def blocks(count: int, size: int) -> int:
    """Blocks of ``size`` that cover ``count``."""
    return -(-count // size)


def tile_of(count: int, least: int, most: int) -> int:
    """The smallest power of two from ``least`` to ``most`` that covers ``count``, else ``most``."""
    return max(least, min(most, 1 << (count - 1).bit_length()))


def wide(*numbers: int) -> tuple[np.int64, ...]:
    """Numbers as kernels take them that count beyond 32 bits."""
    return tuple(map(np.int64, numbers))
