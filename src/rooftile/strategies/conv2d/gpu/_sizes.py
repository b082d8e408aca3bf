"""Sizes that fit: slices of a batch whose workspace stays small, tiles no larger than needed."""

from __future__ import annotations

from rooftile.strategies._grid import tile_of

__all__ = ["MOST_BYTES", "slice_images", "slices", "tile_of"]

MOST_BYTES = 256 * 2**20
"""Workspace that a slice of images may take; a single image may take more."""


def slice_images(batch: int, floats: int) -> int:
    """Images of a slice whose workspace is ``floats`` float32 an image."""
    return max(1, min(batch, MOST_BYTES // (4 * floats)))


def slices(batch: int, images: int) -> list[tuple[int, int]]:
    """First image and number of images of each slice."""
    return [(first, min(images, batch - first)) for first in range(0, batch, images)]
