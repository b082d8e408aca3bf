"""Activations and their derivatives, elementwise, in the dtype of their input.

Each activation is a pair: ``value(z)`` and ``derivative(z, y)``, where ``z`` is
the pre-activation and ``y = value(z)``; a derivative uses whichever is cheaper.
NaN propagates through every one of them.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2 and 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError, check_word, unknown

Array = NDArray[np.floating]

ActivationName = Literal["none", "relu", "sigmoid", "tanh", "softplus", "sign"]
"""``none`` is the identity."""

FusedActivation = Literal["none", "relu", "sigmoid", "tanh"]
"""The activations that an operation may fuse; all of them are monotone."""


@dataclass(frozen=True)
class Activation:
    """An elementwise function with its derivative."""

    name: ActivationName
    value: Callable[[Array], Array]
    derivative: Callable[[Array, Array], Array]


def _sigmoid(z: Array) -> Array:
    # exp of a non-positive argument cannot overflow.
    e = np.exp(-np.abs(z))
    return np.where(z < 0, e / (1 + e), 1 / (1 + e))


def _softplus(z: Array) -> Array:
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Activation("none", lambda z: z, lambda z, y: np.ones_like(z)),
        Activation("relu", lambda z: np.maximum(z, 0), lambda z, y: (z > 0).astype(z.dtype)),
        Activation("sigmoid", _sigmoid, lambda z, y: y * (1 - y)),
        Activation("tanh", np.tanh, lambda z, y: 1 - y * y),
        Activation("softplus", _softplus, lambda z, y: _sigmoid(z)),
        Activation("sign", np.sign, lambda z, y: np.zeros_like(z)),
    )
}


def activation(name: str) -> Activation:
    """The activation called ``name``; raises `InputError` for an unknown one."""
    try:
        return ACTIVATIONS[name]
    except (KeyError, TypeError):
        raise unknown("activation", name, sorted(ACTIVATIONS)) from None


def check_fused(name: str) -> None:
    """Raise `InputError` unless ``name`` is an activation that operations fuse."""
    check_word("activation", name, get_args(FusedActivation))


def roundings(name: str) -> float:
    """Roundings inside an activation, in units of float32; the others select, and round once."""
    return 4.0 if name in ("sigmoid", "tanh") else 1.0


def derivative(name: str, y: Array) -> Array:
    """The derivative of an activation where its value is y.

    Every activation here rises where it is not flat, so the value tells.  Raises `InputError` for
    sign, which has none that anything could be learnt from.
    """
    found = activation(name)
    if name == "sign":
        raise InputError("activation", "'sign'", "one with a derivative: sign has none")
    if name == "softplus":
        return -np.expm1(-y)
    return found.derivative(y, y)


def derivative_terms(name: str, y: Array) -> NDArray[np.float64]:
    """The magnitudes of what the derivative adds up, which an error may be as large as."""
    exact = y.astype(np.float64)
    if name == "tanh":
        return 1 + exact * exact
    if name == "sigmoid":
        return np.abs(exact) + exact * exact
    if name == "softplus":
        return 1 + np.exp(-exact)
    return np.abs(derivative(name, exact))
