"""Random variations of training images that keep their label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
"""[n, height, width]"""


def augment(images: Images, generator: np.random.Generator, *, flip: bool, shift: int) -> Images:
    """A copy with every image mirrored or not, and moved by up to ``shift`` pixels each way.

    What an image leaves behind is black.  The generator is used the same way whatever
    the images hold.
    """
    result = images.copy()
    if flip:
        mirrored = generator.random(len(images)) < 0.5
        result[mirrored] = result[mirrored, :, ::-1]
    if shift == 0:
        return result
    offsets = generator.integers(0, 2 * shift + 1, size=(2, len(images)))
    height, width = images.shape[1:]
    padded = np.pad(result, ((0, 0), (shift, shift), (shift, shift)))
    rows = offsets[0, :, None] + np.arange(height)
    columns = offsets[1, :, None] + np.arange(width)
    each = np.arange(len(images))[:, None, None]
    moved: Images = padded[each, rows[:, :, None], columns[:, None, :]]
    return moved
