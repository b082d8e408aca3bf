"""Sizes that fit: slices of a batch whose workspace stays small, tiles no larger than needed."""

from __future__ import annotations

MOST_BYTES = 256 * 2**20
"""Workspace that a slice of images may take; a single image may take more."""


def slice_images(batch: int, floats: int) -> int:
    """Images of a slice whose workspace is ``floats`` float32 an image."""
    return max(1, min(batch, MOST_BYTES // (4 * floats)))


def slices(batch: int, images: int) -> list[tuple[int, int]]:
    """First image and number of images of each slice."""
    return [(first, min(images, batch - first)) for first in range(0, batch, images)]


def tile_of(count: int, least: int, most: int) -> int:
    """The smallest power of two from ``least`` to ``most`` that covers ``count``, else ``most``."""
    return max(least, min(most, 1 << (count - 1).bit_length()))
