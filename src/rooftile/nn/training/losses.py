"""Losses: what training minimises, the mean over a batch, and its gradient.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.1 and 6.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError, unknown

Array = NDArray[np.floating[Any]]
Targets = NDArray[Any]
"""Labels, integers[n], or what the outputs should be, numbers[n, outputs]."""
LossName = Literal[
    "cross_entropy", "squared_error", "half_squared_error", "missed", "squared_distance"
]
"""Of the outputs k and the label T or the targets t: ``-log k[T]``, ``sum (k - t)^2``, half of it,
``1 - k[T]``, ``sum_j k_j (j - T)^2``."""


@dataclass(frozen=True)
class Loss:
    """A loss of y[n, outputs] and targets: its mean over n, and the gradient of that for y."""

    name: LossName
    value_and_gradient: Callable[[Array, Targets], tuple[float, Array]]
    takes_scores: bool = False
    """True if y is the input of a last softmax or sigmoid, and not its output."""

    def __call__(self, y: Array, targets: Targets) -> tuple[float, Array]:
        """The mean loss and its gradient."""
        return self.value_and_gradient(y, targets)


def cross_entropy(scores: Array, labels: NDArray[np.integer[Any]]) -> tuple[float, Array]:
    """Mean softmax cross-entropy of scores[n, classes], in nats, and its gradient.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.2.2.3.
    """
    rows = np.arange(len(labels))
    shifted = scores - scores.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=1, keepdims=True)
    gradient: Array = exponentials / sums
    gradient[rows, labels] -= 1
    gradient /= len(labels)
    losses = np.log(sums[:, 0]) - shifted[rows, labels]
    return math.fsum(losses) / len(labels), gradient


def binary_cross_entropy(scores: Array, labels: NDArray[np.integer[Any]]) -> tuple[float, Array]:
    """Mean cross-entropy of sigmoid(scores[n, 1]), the probability of class 1, and its gradient.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.2.2.2.
    """
    z = scores[:, 0]
    # softplus of (1 - 2 label) z; the exponential of no positive number overflows.
    small = np.exp(-np.abs(z))
    losses = np.maximum(z, 0) - z * labels + np.log1p(small)
    sigmoid = np.where(z < 0, small / (1 + small), 1 / (1 + small))
    gradient = ((sigmoid - labels) / len(z)).astype(scores.dtype)[:, None]
    return math.fsum(losses) / len(z), gradient


def _squared(y: Array, targets: Targets, factor: float) -> tuple[float, Array]:
    off: Array = y - wanted(targets, y.shape[1], y.dtype)
    value = factor * math.fsum((off * off).sum(axis=1)) / len(y)
    return value, off * y.dtype.type(2 * factor / len(y))


def _missed(y: Array, labels: Targets) -> tuple[float, Array]:
    rows, gradient = np.arange(len(y)), np.zeros_like(y)
    gradient[rows, labels] = -1 / len(y)
    return math.fsum(1 - y[rows, labels]) / len(y), gradient


def _squared_distance(y: Array, labels: Targets) -> tuple[float, Array]:
    distance = np.arange(y.shape[1])[None] - labels.astype(np.int64)[:, None]
    squares = (distance * distance).astype(y.dtype)
    return math.fsum((y * squares).sum(axis=1)) / len(y), squares / y.dtype.type(len(y))


LOSSES: dict[LossName, Loss] = {
    loss.name: loss
    for loss in (
        Loss("cross_entropy", cross_entropy, takes_scores=True),
        Loss("squared_error", lambda y, targets: _squared(y, targets, 1.0)),
        Loss("half_squared_error", lambda y, targets: _squared(y, targets, 0.5)),
        Loss("missed", _missed),
        Loss("squared_distance", _squared_distance),
    )
}


def check_loss(name: str) -> None:
    """Raise `InputError` unless there is such a loss."""
    if name not in get_args(LossName):
        raise unknown("loss", name, get_args(LossName))


def loss_of(name: LossName, outputs: int, activation: str) -> Loss:
    """The loss of a network with ``outputs`` outputs and this last activation.

    Raises `InputError` for a loss that such a network has not.
    """
    if name == "cross_entropy":
        if outputs == 1 and activation == "sigmoid":
            return Loss("cross_entropy", binary_cross_entropy, takes_scores=True)
        if outputs == 1 or activation not in ("none", "softmax"):
            found = f"{outputs} outputs after {activation!r}"
            expected = "a last layer of two outputs or more with none or softmax, or of one sigmoid"
            raise InputError("loss", f"cross_entropy of {found}", expected)
    elif name in ("missed", "squared_distance") and outputs == 1:
        raise InputError("loss", f"{name} of one output", "an output for each class")
    return LOSSES[name]


def wanted(targets: Targets, outputs: int, dtype: Any) -> Array:
    """The targets of outputs: numbers as they are; of labels, 1 at the label's index and else 0.

    One output's target is the label itself.
    """
    if targets.ndim == 2:
        return targets.astype(dtype)
    if outputs == 1:
        return targets.astype(dtype)[:, None]
    made = np.zeros((len(targets), outputs), dtype)
    made[np.arange(len(targets)), targets] = 1
    return made


def check_finite(loss: float, rate: float, step: int, epoch: int) -> None:
    """Raise `InputError` for a loss that is not finite: nothing can be learnt from it."""
    if not math.isfinite(loss):
        where = f"the loss is {loss} in step {step} of epoch {epoch}"
        raise InputError("learning_rate", rate, f"a smaller one: {where}")


def check_weights(parameters: Mapping[str, Array], rate: float, epoch: int) -> None:
    """Raise `InputError` for parameters that are not finite: no loss follows the last step and
    tells."""
    for key, value in parameters.items():
        if not np.isfinite(value).all():
            expected = f"a smaller one: {key} is not finite after epoch {epoch}"
            raise InputError("learning_rate", rate, expected)
