"""Places of the gradients after a max-pool: one position in each window.

The gradient of a maximum is zero but for the window's argmax, so gradients after a max-pool come
one a window, each with its place in the convolution's output: row * columns + column, int32. All
other elements have no gradient, rather than a zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.ops.layers.conv2d import Conv2d
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.layers.positions import CUT, first_places, places_of, positions_of
from rooftile.ops.problem import AnyArray, Array


def check_pool(pool: Pool | None) -> None:
    """Raise `InputError` for other pools than a maximum that nothing follows."""
    if pool is not None and (pool.kind != "max" or pool.activation != "none"):
        found = f"{pool.kind} followed by {pool.activation}"
        raise InputError("pool", found, "a maximum that nothing follows, or None")


def gradient_arrays(layer: Conv2d, batched: bool) -> tuple[Array, ...]:
    """dy, and after a pool ``where``, of the shape of the layer's result."""
    dy = Array("dy", layer.output_shape, batched=batched)
    if layer.pool is None:
        return (dy,)
    return dy, Array("where", layer.output_shape, "int32", batched=batched, places=True)


def values_at_places(
    layer: Conv2d, arrays: Sequence[Array], given: Sequence[AnyArray]
) -> list[AnyArray]:
    """Arrays whose places may be stored as positions, with their places: a window that relu cut
    has a gradient of zero in its first place."""
    found = list(given)
    for k, array in enumerate(arrays):
        if array.places and array.dtype == "uint8":
            assert layer.pool is not None
            places = places_of(layer.pool, layer.conv_size, given[k])
            first = np.broadcast_to(first_places(layer.pool, layer.conv_size), places.shape)
            found[k] = np.where(places == CUT, first, places)
            # The gradients come before their places.
            found[k - 1] = np.where(places == CUT, given[k - 1].dtype.type(0), given[k - 1])
    return found


def as_positions(
    layer: Conv2d, arrays: Sequence[Array], given: Sequence[AnyArray]
) -> list[AnyArray]:
    """The reverse, where relu cuts every third window."""
    found = list(given)
    for k, array in enumerate(arrays):
        if array.places and array.dtype == "uint8":
            assert layer.pool is not None
            third = np.arange(given[k].size).reshape(given[k].shape) % 3 == 0
            places = np.where(third, CUT, given[k])
            found[k] = positions_of(layer.pool, layer.conv_size, places)
    return found


def random_places(layer: Conv2d, seed: int) -> NDArray[np.int32]:
    """A place in each window."""
    assert layer.pool is not None
    generator = np.random.default_rng([seed, 2])
    (high, wide), (down, right) = layer.pool.window, layer.pool.stride
    shape, columns = layer.output_shape, layer.conv_size[1]
    i = np.arange(shape[2])[:, None] * down + generator.integers(0, high, shape)
    j = np.arange(shape[3]) * right + generator.integers(0, wide, shape)
    return (i * columns + j).astype(np.int32)


def seen_from(layer: Conv2d, where: NDArray[np.int32]) -> NDArray[np.intp]:
    """The first pixel, in a padded channel, that the output at each place reads."""
    i, j = np.divmod(where.astype(np.intp), layer.conv_size[1])
    width = layer.width + 2 * layer.padding[1]
    found: NDArray[np.intp] = i * layer.stride[0] * width + j * layer.stride[1]
    return found.reshape(*where.shape[:2], -1)
