"""Passes after a layer: activations that it does not fuse, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.ops.activation import activation

Array = NDArray[np.floating[Any]]
Parameters = tuple[Array, ...]


class ElementwisePass:
    """``y = activation(x)``, each number by itself."""

    def __init__(self, name: str) -> None:
        self._activation = activation(name)

    def forward(self, x: Array, parameters: Parameters) -> Array:
        self._x = x
        self._y: Array = self._activation.value(x)
        return self._y

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        """See `Pass`.  Raises `InputError` for sign, which has no derivative."""
        if self._activation.name == "sign":
            raise InputError("activation", "'sign'", "one with a derivative: sign has none")
        dx: Array = dy * self._activation.derivative(self._x, self._y)
        return (), dx


class SoftmaxPass:
    """``k_i = exp(x_i) / sum_j exp(x_j)`` over each row.

    Its Jacobian is ``dk_i / dx_m = k_i (delta_im - k_m)``.
    """

    def forward(self, x: Array, parameters: Parameters) -> Array:
        e: Array = np.exp(x - x.max(axis=1, keepdims=True))
        k: Array = e / e.sum(axis=1, keepdims=True)
        self._k = k
        return k

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        """See `Pass`: the Jacobian is symmetric, and its product with dy needs no matrix."""
        k = self._k
        dx: Array = k * (dy - (dy * k).sum(axis=1, keepdims=True))
        return (), dx


class DropoutPass:
    """Zeroes a share of the numbers at random, and enlarges the others by as much.

    Without a generator, which is how a network is used, it changes nothing.

    Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
    JMLR 15 (2014).
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self.generator: np.random.Generator | None = None

    def forward(self, x: Array, parameters: Parameters) -> Array:
        if self.generator is None:
            return x
        kept = self.generator.random(x.shape) >= self._share
        self._factors: Array = kept.astype(x.dtype) / x.dtype.type(1 - self._share)
        return x * self._factors

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        return (), dy * self._factors


class ExactLinearPass:
    """``y = activation(x w^T + b)`` in the dtype of x, by NumPy: the operation is float32's."""

    def __init__(self, name: str) -> None:
        self._activation = activation(name)

    def forward(self, x: Array, parameters: Parameters) -> Array:
        weights, bias = parameters
        self._shape, self._x = x.shape, x.reshape(len(x), -1)
        self._z = self._x @ weights.T + bias
        self._y: Array = self._activation.value(self._z)
        return self._y

    def backward(
        self, dy: Array, parameters: Parameters, *, with_input: bool
    ) -> tuple[Parameters, Array]:
        dz = dy * self._activation.derivative(self._z, self._y)
        gradients = (dz.T @ self._x, dz.sum(axis=0))
        return gradients, (dz @ parameters[0]).reshape(self._shape)
