"""Rules that turn gradients into steps.  They change the parameters in place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.nn.definition import is_bias
from rooftile.nn.training.kernels import adam, run
from rooftile.nn.training.options import TrainingOptions

Arrays = dict[str, NDArray[np.floating[Any]]]
"""Parameters or gradients by their key."""


_UNIT = 2**14
"""Elements of an array that one thread changes at a time."""


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
            shares = (1 - self._momentum, 1 - self._SQUARE_DECAY)
            rates = np.array((*shares, step_size, correction, self._EPSILON), parameter.dtype)
            arrays = (parameter, np.ascontiguousarray(gradient), mean, square, rates)
            run(adam, arrays, (_UNIT,), -(-parameter.size // _UNIT), cpu.cores())


def _decay(key: str, parameter: NDArray[np.floating[Any]], share: float) -> None:
    """Shrink weights; a bias stays, since it only moves the function up and down."""
    if share > 0 and not is_bias(key):
        parameter *= 1 - share
