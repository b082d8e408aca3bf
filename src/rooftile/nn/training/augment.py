"""Random variations of training images that keep their label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.float64]
"""[n, height, width] or [n, channels, height, width]"""


def augment(images: Images, generator: np.random.Generator, *, flip: bool, shift: int) -> Images:
    """A copy with every image mirrored or not, and moved by up to ``shift`` pixels each way.

    Vacated pixels are zeros: black. The generator is used the same way for any images.
    """
    result = images.copy()
    if flip:
        mirrored = generator.random(len(images)) < 0.5
        result[mirrored] = result[mirrored, ..., ::-1]
    if shift == 0:
        return result
    offsets = generator.integers(0, 2 * shift + 1, size=(2, len(images)))
    height, width = images.shape[-2:]
    around = ((0, 0),) * (images.ndim - 2)
    padded = np.pad(result, (*around, (shift, shift), (shift, shift)))
    for number, (down, right) in enumerate(offsets.T):
        result[number] = padded[number, ..., down : down + height, right : right + width]
    return result
