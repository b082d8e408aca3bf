"""A layer's forward and backward pass over a batch.

Arrays keep the dtype of the input: float32 in training, float64 where a test compares
gradients with finite differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.training.kernels import SHARES, correlate, correlate_back, maximum, run
from rooftile.ops import Conv2d, Linear, Pool, Problem, activation

Array = NDArray[np.floating[Any]]
Parameters = tuple[Array, ...]


class Pass(Protocol):
    """What a layer does to a batch; `backward` uses what the last `forward` kept."""

    def forward(self, x: Array, parameters: Parameters) -> Array:
        """The layer's output for x[n, ...]."""

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        """Gradients of the parameters and of the input, from that of the output.

        Without ``with_input`` the second one is of no images.
        """


def layer_pass(problem: Problem, threads: int) -> Pass:
    """The pass of a layer's problem; the batch that the problem names does not matter."""
    return _PASSES[problem.operation](problem, threads)


class LinearPass:
    """``y = activation(x w^T + b)`` by BLAS, whose threads are its own; x is flattened."""

    def __init__(self, problem: Linear, threads: int) -> None:
        self._activation = activation(problem.activation)

    def forward(self, x: Array, parameters: Parameters) -> Array:
        """See `Pass`."""
        weights, bias = parameters
        self._shape = x.shape
        self._x = x.reshape(len(x), -1)
        self._z = self._x @ weights.T + bias
        self._y = self._activation.value(self._z)
        return self._y

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        """See `Pass`."""
        dz = dy * self._activation.derivative(self._z, self._y)
        dx = (dz @ parameters[0]).reshape(self._shape) if with_input else _nothing(self._shape, dz)
        return (dz.T @ self._x, dz.sum(axis=0)), dx


class ConvPass:
    """``y = pool(activation(x * w + b))``.

    The fused activations are monotone, so under max-pool the maximum is taken first and
    only the winners are activated.
    """

    def __init__(self, problem: Conv2d, threads: int) -> None:
        pool = problem.pool
        if pool is not None and (pool.kind == "l2" or pool.activation != "none"):
            expected = "a maximum or an average with nothing behind it"
            raise InputError("pool", f"{pool.kind} with {pool.activation} behind it", expected)
        if problem.ghosts != "zero":
            raise InputError("boundary", repr(problem.boundary), "'zero'")
        self._problem, self._threads = problem, threads
        self._rows, self._columns = _extent(problem)
        self._activation = activation(problem.activation)
        self._sizes = (
            problem.channels,
            problem.height + 2 * problem.padding[0],
            problem.width + 2 * problem.padding[1],
            problem.maps,
            *problem.mask,
            *problem.stride,
            self._rows,
            self._columns,
        )

    def forward(self, x: Array, parameters: Parameters) -> Array:
        """See `Pass`."""
        problem, pool = self._problem, self._problem.pool
        vertical, horizontal = problem.padding
        around = ((0, 0), (0, 0), (vertical, vertical), (horizontal, horizontal))
        self._x = np.ascontiguousarray(np.pad(x, around) if any(problem.padding) else x)
        z = self._correlate(parameters)
        self._where: NDArray[np.int32]
        if pool is not None and pool.kind == "max":
            z, self._where = self._maximum(z, pool)
        else:
            self._where = _everywhere(z.shape)
        self._z, self._y = z, self._activation.value(z)
        if pool is not None and pool.kind == "average":
            return _average(self._y, pool, problem.output_size)
        return self._y

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        """See `Pass`."""
        pool = self._problem.pool
        if pool is not None and pool.kind == "average":
            dy = _spread(dy, pool, (self._rows, self._columns))
        dz = dy * self._activation.derivative(self._z, self._y)
        dz = np.ascontiguousarray(dz).reshape(*dz.shape[:2], -1)
        dweights, dx = self._gradients(dz, parameters[0], with_input)
        return (dweights, dz.sum(axis=(0, 2))), dx

    def _correlate(self, parameters: Parameters) -> Array:
        """The convolution with bias, as far as the pool reads it."""
        shape = (len(self._x), self._problem.maps, self._rows, self._columns)
        z: Array = np.empty(shape, self._x.dtype)
        arrays = (self._x, *map(np.ascontiguousarray, parameters), z)
        run(correlate, arrays, self._sizes, shape[0] * shape[1], self._threads)
        return z

    def _maximum(self, z: Array, pool: Pool) -> tuple[Array, NDArray[np.int32]]:
        """Each window's maximum and its position."""
        shape = (*z.shape[:2], *self._problem.output_size)
        best, where = np.empty(shape, z.dtype), np.empty(shape, np.int32)
        sizes = (*z.shape[2:], *shape[2:], *pool.window, *pool.stride)
        run(maximum, (z, best, where), sizes, shape[0] * shape[1], self._threads)
        return best, where

    def _gradients(self, dz: Array, weights: Array, with_input: bool) -> tuple[Array, Array]:
        """Gradients of the weights and of the input."""
        problem, x = self._problem, self._x
        parts = np.zeros((SHARES, *weights.shape), x.dtype)
        dx = np.zeros_like(x) if with_input else _nothing(x.shape, x)
        arrays = (x, np.ascontiguousarray(weights), self._where, dz, parts, dx)
        sizes = (*self._sizes, dz.shape[2], len(dz), SHARES)
        run(correlate_back, arrays, sizes, SHARES, self._threads)
        vertical, horizontal = problem.padding
        inside = dx[:, :, vertical : vertical + problem.height, horizontal:][..., : problem.width]
        return parts.sum(axis=0), inside


_PASSES: dict[str, Callable[[Any, int], Pass]] = {"conv2d": ConvPass, "linear": LinearPass}


def _nothing(shape: tuple[int, ...], like: Array) -> Array:
    """An array of no images."""
    return np.empty((0, *shape[1:]), like.dtype)


def _extent(problem: Conv2d) -> tuple[int, int]:
    """Rows and columns of the convolution up to the last one that the pool reads."""
    if problem.pool is None:
        return problem.conv_size
    (height, width), (down, right) = problem.pool.window, problem.pool.stride
    rows, columns = problem.output_size
    return (rows - 1) * down + height, (columns - 1) * right + width


def _everywhere(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """The positions of all elements of each image and map, in order."""
    positions = np.arange(shape[2] * shape[3], dtype=np.int32).reshape(shape[2:])
    # The kernels are compiled for contiguous arrays: a broadcast view would be another type.
    return np.ascontiguousarray(np.broadcast_to(positions, shape))


def _average(y: Array, pool: Pool, size: tuple[int, int]) -> Array:
    """The mean of each window: a sum of shifted, strided views."""
    total: Array = np.zeros((*y.shape[:2], *size), y.dtype)
    for view in _window_views(y, pool, size):
        total += view
    return total / y.dtype.type(pool.window[0] * pool.window[1])


def _spread(dy: Array, pool: Pool, read: tuple[int, int]) -> Array:
    """The gradient of `_average`: every element gets its share from each of its windows."""
    dx: Array = np.zeros((*dy.shape[:2], *read), dy.dtype)
    part = dy / dy.dtype.type(pool.window[0] * pool.window[1])
    for view in _window_views(dx, pool, (dy.shape[2], dy.shape[3])):
        view += part
    return dx


def _window_views(image: Array, pool: Pool, size: tuple[int, int]) -> list[Array]:
    """For each place in the window, the view of what stands there in every window."""
    (height, width), (down, right) = pool.window, pool.stride
    return [
        image[:, :, a : a + down * size[0] : down, b : b + right * size[1] : right][
            :, :, : size[0], : size[1]
        ]
        for a in range(height)
        for b in range(width)
    ]
