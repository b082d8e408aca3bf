"""Compiled loops of convolution and max-pool, forward and backward, for a share of the images.

Convolution is computed directly, not unrolled into a matrix: with the mask's row a
constant of the compiled loop, the compiler keeps the taps in registers, and the unrolled
matrix, fifty times the image for a 7x7 mask, is never written.  The gradient of a max-pool
is zero but for one position a window, so the backward pass walks a list of positions
instead of the whole image.

All arrays are C-contiguous and of one floating dtype; images are already padded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import njit

_compiled = njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
"""Multiply and add may fuse; nothing may be reordered, so a result never varies."""


@dataclass(frozen=True)
class ConvKernels:
    """The loops for one mask width and one stride."""

    forward: Callable[..., None]
    """``forward(x, weights, bias, z, begin, end)``"""
    backward: Callable[..., None]
    """``backward(x, weights, columns, where, dz, dweights, dx, begin, end)``"""


@cache
def conv_kernels(width: int, stride: tuple[int, int]) -> ConvKernels:
    """Compile the loops with the mask's width and the stride as constants."""
    return ConvKernels(_forward(width, stride), _backward(width, stride))


def _forward(width: int, stride: tuple[int, int]) -> Callable[..., None]:
    down, right = stride

    @_compiled
    def forward(x, weights, bias, z, begin, end):  # type: ignore[no-untyped-def]
        """z[n, maps, rows, columns] = the convolution of x[n, channels, height, width]."""
        maps, channels, mask_height, _ = weights.shape
        rows, columns = z.shape[2], z.shape[3]
        for n in range(begin, end):
            for m in range(maps):
                for i in range(rows):
                    row = z[n, m, i]
                    row[:] = bias[m]
                    for c in range(channels):
                        for p in range(mask_height):
                            line, taps = x[n, c, i * down + p], weights[m, c, p]
                            for j in range(columns):
                                total = row[j]
                                for q in range(width):
                                    total += taps[q] * line[j * right + q]
                                row[j] = total

    return forward


def _backward(width: int, stride: tuple[int, int]) -> Callable[..., None]:
    down, right = stride

    @_compiled
    def backward(  # type: ignore[no-untyped-def]
        x, weights, columns, where, dz, dweights, dx, begin, end
    ):
        """Add to dweights and dx what the gradients dz[n, maps, k] bring.

        ``where[n, maps, k]`` is a gradient's position, row * columns + column.  A ``dx``
        of no images is left out: the first layer's input needs no gradient.
        """
        maps, channels, mask_height, _ = weights.shape
        outputs, with_input = dz.shape[2], dx.shape[0] > 0
        gradients = np.empty(outputs, dz.dtype)
        top, left = np.empty(outputs, np.int64), np.empty(outputs, np.int64)
        for n in range(begin, end):
            for m in range(maps):
                count = 0
                for k in range(outputs):
                    i, j = divmod(where[n, m, k], columns)
                    gradients[count], top[count], left[count] = dz[n, m, k], i * down, j * right
                    if dz[n, m, k] != 0:
                        count += 1
                for c in range(channels):
                    for p in range(mask_height):
                        dtaps = dweights[m, c, p]
                        for k in range(count):
                            line = x[n, c, top[k] + p, left[k] : left[k] + width]
                            for q in range(width):
                                dtaps[q] += gradients[k] * line[q]
                if with_input:
                    # Positions are the outer loop here: neighbouring windows overlap, and a
                    # read of what was just written would wait for it.
                    for k in range(count):
                        for c in range(channels):
                            for p in range(mask_height):
                                taps = weights[m, c, p]
                                dline = dx[n, c, top[k] + p, left[k] : left[k] + width]
                                for q in range(width):
                                    dline[q] += gradients[k] * taps[q]

    return backward


@cache
def max_pool_kernel(window: tuple[int, int], stride: tuple[int, int]) -> Callable[..., None]:
    """Compile ``max_pool(z, best, where, begin, end)`` for a window and its stride."""
    (height, width), (down, right) = window, stride

    @_compiled
    def max_pool(z, best, where, begin, end):  # type: ignore[no-untyped-def]
        """best[n, maps, rows, columns] = the maximum of each window of z, and where it stands.

        ``where`` is row * z's columns + column.  The first of equals wins; NaN wins over all.
        """
        rows, columns = best.shape[2], best.shape[3]
        across = z.shape[3]
        for n in range(begin, end):
            for m in range(z.shape[1]):
                image = z[n, m]
                for i in range(rows):
                    for j in range(columns):
                        value, offset = image[i * down, j * right], np.int32(0)
                        for a in range(height):
                            for b in range(width):
                                other = image[i * down + a, j * right + b]
                                if other > value or other != other:
                                    value, offset = other, np.int32(a * across + b)
                        best[n, m, i, j] = value
                        where[n, m, i, j] = i * down * across + j * right + offset

    return max_pool
