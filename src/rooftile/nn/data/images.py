"""From stored pixels to the input of a network."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.data.pixels import Pixels
from rooftile.ops import Float32
from rooftile.ops.checks import check_positive
from rooftile.ops.layers.gather_batch import resizing

MEAN = 0.2860
"""Mean of the pixels of Fashion-MNIST's 60,000 training images, scaled to [0, 1]."""
DEVIATION = 0.3530
"""Standard deviation of the same."""
FASHION = Pixels((MEAN,), (DEVIATION,))
"""Conversion of pixels like these to a network's input."""


def prepare(images: NDArray[np.uint8], size: int) -> Float32:
    """x[n, 1, size, size] float32 from images[n, height, width] uint8.

    Pixels are scaled to [0, 1] and standardised by `MEAN` and `DEVIATION`; the image is resized
    bilinearly with half-pixel centres and its border repeated (what PyTorch's ``interpolate`` does
    with ``align_corners=False``; no smoothing when it shrinks). An image's result does not depend
    on the other images, so that any slice may be prepared by itself. Raises `InputError`.
    """
    if images.ndim != 3:
        raise InputError("images", f"{images.dtype}{list(images.shape)}", "uint8[n, height, width]")
    check_positive(size=size)
    return prepared(images, (1, size, size), FASHION)


def prepared(
    images: NDArray[np.uint8], input_shape: tuple[int, int, int], pixels: Pixels
) -> Float32:
    """x[n, *input_shape] float32 from uint8[n, height, width] or [n, channels, height, width].

    Resized as `prepare` does, and standardised by ``pixels``.  Raises `InputError`.
    """
    channels, height, width = input_shape
    with_channels = images[:, None] if images.ndim == 3 else images
    if images.ndim not in (3, 4) or with_channels.shape[1] != channels:
        expected = f"uint8[n, {channels}, height, width]"
        raise InputError("images", f"{images.dtype}{list(images.shape)}", expected)
    _check_pixels(images)
    x = _resized(with_channels, (height, width))
    pixels.standardise(x)
    return x


def resize(images: NDArray[np.uint8], size: int | tuple[int, int]) -> NDArray[np.uint8]:
    """uint8[n, size, size], or [n, *size], of uint8[n, height, width], a channel's axis kept.

    Resized as `prepare` does, rounded to whole levels, halves to even: what is made of them differs
    from what is made of ``images`` by that rounding alone.  Raises `InputError`.
    """
    if images.ndim not in (3, 4):
        expected = "uint8[n, height, width] or [n, channels, height, width]"
        raise InputError("images", f"{images.dtype}{list(images.shape)}", expected)
    height, width = (size, size) if isinstance(size, int) else size
    check_positive(size=min(height, width))
    _check_pixels(images)
    return np.rint(_resized(images, (height, width))).astype(np.uint8)


def _check_pixels(images: NDArray[np.uint8]) -> None:
    if images.dtype != np.uint8 or 0 in images.shape[1:]:
        expected = "uint8 images of at least a pixel"
        raise InputError("images", f"{images.dtype}{list(images.shape)}", expected)


def _resized(images: NDArray[np.uint8], size: tuple[int, int]) -> Float32:
    """Levels 0 to 255 of images[..., height, width], not rounded."""
    height, width = images.shape[-2:]
    x: Float32 = images.astype(np.float32)
    if (height, width) != size:
        x = np.matmul(np.matmul(_weights(height, size[0]), x), _weights(width, size[1]).T)
    return x


@cache
def _weights(old: int, new: int) -> NDArray[np.float32]:
    """The matrix [new, old] that resizes a column of ``old`` pixels: two weights a row."""
    lower, shares = resizing(old, new)
    matrix: NDArray[Any] = np.zeros((new, old))
    rows = np.arange(new)
    np.add.at(matrix, (rows, lower), shares[:, 0])
    np.add.at(matrix, (rows, np.minimum(lower + 1, old - 1)), shares[:, 1])
    result = matrix.astype(np.float32)
    result.flags.writeable = False
    return result
