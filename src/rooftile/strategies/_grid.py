"""Sizes of grids and blocks of GPU strategies."""

from __future__ import annotations

MOST_BLOCKS = 65535
"""Blocks of a grid in y and z: kernels loop over the images beyond."""


def blocks(count: int, size: int) -> int:
    """Blocks of ``size`` that cover ``count``."""
    return -(-count // size)


def tile_of(count: int, least: int, most: int) -> int:
    """The smallest power of two from ``least`` to ``most`` that covers ``count``, else ``most``."""
    return max(least, min(most, 1 << (count - 1).bit_length()))
