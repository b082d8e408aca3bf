"""Compiled loops of convolution and max-pool, forward and backward, and of an optimiser.

The gradient of a max-pool is zero but for one position a window, so the backward pass walks a list
of positions instead of the whole image.

All arrays are flat and of one floating dtype; images are already padded.  A unit is a plane of an
image, or, where sums go over the batch, a share of the images: there are as many shares on every
machine, so that rounding is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native

SHARES = 8
"""How many parts a batch is cut into, whatever the number of threads: sums over the batch
are made by part and then over the parts."""


def correlate(x, weights, bias, z, sizes, begin, end):  # type: ignore[no-untyped-def]
    """z[n, maps, rows, columns] = the convolution of x[n, channels, height, width]; a unit is a
    plane of z."""
    channels, height, width, maps = sizes[0], sizes[1], sizes[2], sizes[3]
    tall, wide, down, right = sizes[4], sizes[5], sizes[6], sizes[7]
    rows, columns = sizes[8], sizes[9]
    for unit in range(begin, end):
        n, m = unit // maps, unit % maps
        for i in range(rows):
            to = (unit * rows + i) * columns
            for j in range(columns):
                z[to + j] = bias[m]
            for c in range(channels):
                for p in range(tall):
                    line = ((n * channels + c) * height + i * down + p) * width
                    for q in range(wide):
                        tap = weights[((m * channels + c) * tall + p) * wide + q]
                        for j in range(columns):
                            z[to + j] += tap * x[line + j * right + q]


def correlate_back(  # type: ignore[no-untyped-def]
    x, weights, where, dz, dweights, dx, sizes, begin, end
):
    """Add to dweights[shares, ...] and dx what the gradients dz[n, maps, k] bring.

    ``where[n, maps, k]`` is a gradient's position, row * columns + column.  A ``dx`` of no images
    is left out: the first layer's input needs no gradient.  A unit is a share of the images.
    """
    channels, height, width, maps = sizes[0], sizes[1], sizes[2], sizes[3]
    tall, wide, down, right = sizes[4], sizes[5], sizes[6], sizes[7]
    columns, outputs, images, shares = sizes[9], sizes[10], sizes[11], sizes[12]
    terms, plane = tall * wide, height * width
    for share in range(begin, end):
        for n in range(images * share // shares, images * (share + 1) // shares):
            for k in range(n * maps * outputs, (n + 1) * maps * outputs):
                gradient = dz[k]
                if gradient != 0:
                    m = k // outputs % maps
                    i, j = where[k] // columns * down, where[k] % columns * right
                    for c in range(channels):
                        at = (n * channels + c) * plane + i * width + j
                        taps = (m * channels + c) * terms
                        to = share * maps * channels * terms + taps
                        for p in range(tall):
                            for q in range(wide):
                                dweights[to + p * wide + q] += gradient * x[at + p * width + q]
                        if dx.size > 0:
                            for p in range(tall):
                                for q in range(wide):
                                    tap = weights[taps + p * wide + q]
                                    dx[at + p * width + q] += gradient * tap


def maximum(z, best, where, sizes, begin, end):  # type: ignore[no-untyped-def]
    """best[n, maps, rows, columns] = the maximum of each window of z, and where it stands.

    ``where`` is row * z's columns + column.  The first of equals wins; NaN wins over all.  A unit
    is a plane.
    """
    high, across, rows, columns = sizes[0], sizes[1], sizes[2], sizes[3]
    tall, wide, down, right = sizes[4], sizes[5], sizes[6], sizes[7]
    for unit in range(begin, end):
        for i in range(rows):
            for j in range(columns):
                first = i * down * across + j * right
                place, value = first, z[unit * high * across + first]
                for a in range(tall):
                    for b in range(wide):
                        other = z[unit * high * across + first + a * across + b]
                        if other > value or other != other:
                            value, place = other, first + a * across + b
                best[(unit * rows + i) * columns + j] = value
                where[(unit * rows + i) * columns + j] = place


def adam(  # type: ignore[no-untyped-def]
    parameter, gradient, mean, square, rates, sizes, begin, end
):
    """One pass over memory instead of NumPy's ten: most of a large linear layer's step.

    ``rates``: shares of the new gradient in mean and square, step size, correction, epsilon.  A
    unit is sizes[0] elements.
    """
    for i in range(begin * sizes[0], min(end * sizes[0], parameter.size)):
        mean[i] += rates[0] * (gradient[i] - mean[i])
        square[i] += rates[1] * (gradient[i] * gradient[i] - square[i])
        parameter[i] -= rates[2] * mean[i] / (np.sqrt(square[i]) / rates[3] + rates[4])


_KERNELS: dict[Any, Native] = {
    function: native(function, flags="contract")
    for function in (correlate, correlate_back, maximum, adam)
}
"""Multiply and add may fuse; nothing may be reordered, so a result never varies."""


@cache
def _spread(function: Any, dtypes: tuple[str, ...]) -> cpu.Spread:
    return cpu.Spread(_KERNELS[function], dtypes)


def run(
    function: Any, arrays: Sequence[NDArray[Any]], sizes: Sequence[int], units: int, threads: int
) -> None:
    """Run one of the loops above over contiguous arrays."""
    dtypes = tuple(str(array.dtype) for array in arrays)
    _spread(function, dtypes)(arrays, cpu.sizes_of(*sizes), units, threads)
