"""Rules that turn gradients into steps.  They change the parameters in place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rooftile.nn.definition import is_bias
from rooftile.nn.training.options import TrainingOptions

Arrays = dict[str, NDArray[np.floating[Any]]]
"""Parameters or gradients by their key."""


class Optimiser(Protocol):
    """A rule with its memory."""

    state: Arrays
    """The memory, by name, to keep in a checkpoint."""

    def step(self, parameters: Arrays, gradients: Arrays, rate: float) -> None:
        """Take one step with a learning rate."""


def optimiser(options: TrainingOptions, parameters: Mapping[str, NDArray[Any]]) -> Optimiser:
    """The optimiser that the options name, with an empty memory."""
    kind = Adam if options.optimiser == "adam" else Sgd
    return kind(parameters, options.momentum, options.weight_decay)


class Sgd:
    """Stochastic gradient descent with momentum.

    Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and
    momentum in deep learning", ICML 2013 (classical momentum).
    """

    def __init__(
        self, parameters: Mapping[str, NDArray[Any]], momentum: float, weight_decay: float
    ) -> None:
        self._momentum, self._decay = momentum, weight_decay
        self.state: Arrays = {f"velocity.{key}": np.zeros_like(p) for key, p in parameters.items()}

    def step(self, parameters: Arrays, gradients: Arrays, rate: float) -> None:
        """velocity = momentum * velocity + gradient; parameter -= rate * velocity."""
        for key, parameter in parameters.items():
            velocity = self.state[f"velocity.{key}"]
            velocity *= self._momentum
            velocity += gradients[key]
            _decay(key, parameter, rate * self._decay)
            parameter -= rate * velocity


class Adam:
    """Adaptive moment estimation, with weight decay apart from the gradient (AdamW).

    Sources: Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015;
    Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

    _SQUARE_DECAY = 0.999
    _EPSILON = 1e-8

    def __init__(
        self, parameters: Mapping[str, NDArray[Any]], momentum: float, weight_decay: float
    ) -> None:
        self._momentum, self._decay = momentum, weight_decay
        self.state: Arrays = {"steps": np.zeros(1, np.float64)}
        for key, parameter in parameters.items():
            self.state[f"mean.{key}"] = np.zeros_like(parameter)
            self.state[f"square.{key}"] = np.zeros_like(parameter)

    def step(self, parameters: Arrays, gradients: Arrays, rate: float) -> None:
        """Move by the mean gradient over the root of the mean square, both freed of bias."""
        self.state["steps"] += 1
        steps = float(self.state["steps"][0])
        step_size = rate / (1 - self._momentum**steps)
        correction = math.sqrt(1 - self._SQUARE_DECAY**steps)
        for key, parameter in parameters.items():
            gradient = gradients[key]
            mean, square = self.state[f"mean.{key}"], self.state[f"square.{key}"]
            _decay(key, parameter, rate * self._decay)
            kind = parameter.dtype.type
            _adam_step(
                parameter.reshape(-1),
                gradient.reshape(-1),
                mean.reshape(-1),
                square.reshape(-1),
                kind(1 - self._momentum),
                kind(1 - self._SQUARE_DECAY),
                kind(step_size),
                kind(correction),
                kind(self._EPSILON),
            )


@njit(nogil=True, cache=True, error_model="numpy")
def _adam_step(  # type: ignore[no-untyped-def]
    parameter, gradient, mean, square, mean_share, square_share, step_size, correction, epsilon
):
    """One pass over memory instead of NumPy's ten: most of a large linear layer's step."""
    for i in range(parameter.size):
        mean[i] += mean_share * (gradient[i] - mean[i])
        square[i] += square_share * (gradient[i] * gradient[i] - square[i])
        parameter[i] -= step_size * mean[i] / (np.sqrt(square[i]) / correction + epsilon)


def _decay(key: str, parameter: NDArray[np.floating[Any]], share: float) -> None:
    """Shrink weights; a bias stays, since it only moves the function up and down."""
    if share > 0 and not is_bias(key):
        parameter *= 1 - share
