"""The float64 training of `mlp_training`, and the magnitudes that float32's budget follows from.

A weight's magnitude is the sum of the magnitudes of all terms that its steps add: backward of
``|dy| |slope| |w|`` in place of their products, and forward with what rounding moves each value.
Two things are not random roundings, whose sum grows with the square root of the steps:

- Steps of about one size round a weight in one direction, again and again. A second training in the
  same loop rounds each weight to float32 after each step; the difference of both is allowed.
- A `relu` whose sum is closer to 0 than its rounding error is on one side here and may be on the
  other in float32. What the step would add then is allowed to every weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rooftile.ops.activation import activation
from rooftile.ops.problem import AnyArray, Float64

_UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
_KINKED = ("relu",)
"""Activations whose slope jumps at 0."""


class _Layer(NamedTuple):
    """Views of a layer's part of flat arrays; the first axis of the first four is the training."""

    activation: str
    matrix: Float64
    bias: Float64
    of_matrix: Float64
    """The gradient of each weight."""
    of_bias: Float64
    size: Float64
    """The magnitude of the gradient's terms."""
    bias_size: Float64


class Trained(NamedTuple):
    """The results of `train`: arrays of a number for each weight, or for each epoch."""

    weights: Float64
    losses: Float64
    magnitude: Float64
    """Of each weight."""
    slopes: Float64
    """The magnitude of each loss: what the weights' magnitudes move it."""


def train(
    problem: Any,
    x: Float64,
    targets: Float64,
    order: AnyArray,
    rates: AnyArray,
    weights: Float64,
) -> Trained:
    """A step for each sample of each epoch of a `MlpTraining`.

    x is [rows, features], targets [rows, outputs], order [epochs, rows] the rows of each epoch,
    rates [epochs] the learning rates, and weights are flat, as `mlp_training` describes them.
    """
    trainings = 2 if problem.dtype == "float32" else 1
    w = np.stack([weights] * trainings)
    gradient, size = np.empty_like(w), np.empty_like(weights)
    layers = list(_layers(problem, w, gradient, size))
    moved = np.abs(weights)
    losses, slopes = np.zeros(problem.epochs), np.zeros(problem.epochs)
    # A magnitude of 1 allows a multiple of this.
    unit = _UNIT[problem.dtype] * math.sqrt(problem.reduction)
    with np.errstate(all="ignore"):
        for epoch in range(problem.epochs):
            slope, rate = np.zeros_like(weights), float(rates[epoch])
            for row in order[epoch]:
                loss, jump = _step(layers, x[row], targets[row], 2 * unit)
                losses[epoch] += loss
                w -= rate * gradient
                w[1:] = w[1:].astype(np.float32)
                slope += np.abs(gradient[0])
                moved += rate * (size + jump / unit)
            losses[epoch] /= problem.rows
            slopes[epoch] = losses[epoch] + (slope * moved).sum() / problem.rows
        off = np.abs(w[-1] - w[0]) / unit
    return Trained(w[0], losses, moved + np.where(np.isfinite(off), off, 0.0), slopes)


def step(problem: Any, w: Float64, x: Float64, target: Float64) -> tuple[float, Float64]:
    """The loss of one row, and its gradient for all weights."""
    gradient = np.empty((1, w.size))
    layers = list(_layers(problem, w[None], gradient, np.empty_like(w)))
    return _step(layers, x, target, 0.0)[0], gradient[0]


def _layers(problem: Any, w: Float64, gradient: Float64, size: Float64) -> Iterator[_Layer]:
    """The views of each layer; w and gradient are [trainings, weights], size is [weights]."""
    for k, neurons in enumerate(problem.layers.counts):
        own = slice(problem.starts[k], problem.starts[k + 1])
        parts = [a[..., own].reshape(*a.shape[:-1], neurons, -1) for a in (w, gradient, size)]
        views = [view for part in parts for view in (part[..., :-1], part[..., -1])]
        yield _Layer(problem.layers.activations[k], *views)


def _step(
    layers: Sequence[_Layer], x: Float64, target: Float64, reach: float
) -> tuple[float, float]:
    """The first training's loss of one row, and what a `relu` on the other side of 0 would add to a
    gradient; the gradients and their magnitudes are written into the layers' views.

    Sums closer to 0 than ``reach`` times their magnitude may be on either side.
    """
    inputs = [np.broadcast_to(x, (len(layers[0].matrix), x.size))]
    sizes, before, near = [np.abs(x)], [], []
    for layer in layers:
        z = np.matmul(layer.matrix, inputs[-1][..., None])[..., 0] + layer.bias
        y, size = _value(layer.activation, z), np.abs(layer.matrix[0]) @ sizes[-1]
        size += np.abs(layer.bias[0])
        near.append(layer.activation in _KINKED and np.abs(z[0]) < reach * size)
        sizes.append(np.abs(y[0]) + _size_through(layer.activation, z[0], y[0], size, near[-1]))
        before.append(z)
        inputs.append(y)
    back = off = inputs[-1] - target
    size, jump = sizes[-1] + np.abs(target), 0.0
    for k in reversed(range(len(layers))):
        layer, z, y = layers[k], before[k], inputs[k + 1]
        delta = _through(layer.activation, z, y, back)
        size = _size_through(layer.activation, z[0], y[0], size, near[k])
        np.multiply(delta[..., None], inputs[k][:, None], out=layer.of_matrix)
        np.multiply(size[:, None], sizes[k], out=layer.size)
        layer.of_bias[:], layer.bias_size[:] = delta, size
        if np.any(near[k]):
            jump = max(jump, float(size[near[k]].max() * max(1.0, sizes[k].max())))
        back = np.matmul(delta[:, None], layer.matrix)[:, 0]
        size = size @ np.abs(layer.matrix[0])
    return 0.5 * float(off[0] @ off[0]), jump


def _value(name: str, z: Float64) -> Float64:
    if name == "softmax":
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        y: Float64 = e / e.sum(axis=-1, keepdims=True)
        return y
    found: Float64 = activation(name).value(z).astype(np.float64)
    return found


def _through(name: str, z: Float64, y: Float64, dy: Float64) -> Float64:
    """The gradient before an activation from the one after it."""
    if name == "softmax":
        made: Float64 = y * (dy - (dy * y).sum(axis=-1, keepdims=True))
        return made
    found: Float64 = (dy * activation(name).derivative(z, y)).astype(np.float64)
    return found


def _size_through(name: str, z: Float64, y: Float64, size: Float64, near: Any) -> Float64:
    """The magnitude of what passes an activation, forward or backward; where sums are ``near`` a
    kink, with its larger slope."""
    if name == "softmax":
        made: Float64 = y * (size + size @ y)
        return made
    slope = np.abs(activation(name).derivative(z, y))
    found: Float64 = np.where(near, np.maximum(slope, 1.0), slope) * size
    return found
