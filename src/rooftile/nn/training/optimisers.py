"""Rules that turn gradients into steps.  They change the parameters in place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.nn.definition import is_bias
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops.gradients.optimiser_step import EPSILON, SQUARE_DECAY

Arrays = dict[str, NDArray[np.floating[Any]]]
"""Parameters or gradients by their key."""


LOSS_SCALE = 65536.0
"""The first factor of a loss where gradients are rounded to float16: a device halves it when one
overflows, and doubles it when none has for long. The next number counts the steps since. Source:
Micikevicius and others, "Mixed precision training", ICLR 2018, section 3.2."""
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
    kind = Adam if options.optimizer == "adam" else Sgd
    made: Optimiser = kind(parameters, options.momentum, options.weight_decay)
    if options.precision == "fp16":
        made.state["scale"] = np.array([LOSS_SCALE, 0], np.float32)
    return made


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
            rates = (self._momentum, rate, _kept(key, rate * self._decay))
            _run(_sgd, (parameter, gradients[key], self.state[f"velocity.{key}"]), rates)


class Adam:
    """Adaptive moment estimation, with weight decay apart from the gradient (AdamW).

    Sources: Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015;
    Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

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
        correction = math.sqrt(1 - SQUARE_DECAY**steps)
        for key, parameter in parameters.items():
            rates = (
                1 - self._momentum,
                1 - SQUARE_DECAY,
                step_size,
                correction,
                EPSILON,
                _kept(key, rate * self._decay),
            )
            memory = (self.state[f"mean.{key}"], self.state[f"square.{key}"])
            _run(_adam, (parameter, gradients[key], *memory), rates)


def _kept(key: str, share: float) -> float:
    """The factor of weight decay; 1 for a bias, which only shifts the function."""
    return 1.0 if is_bias(key) else 1 - share


# One pass over memory instead of NumPy's five or ten: most of a large linear layer's step.


@native
def _sgd(parameter, gradient, velocity, rates, sizes, begin, end):  # type: ignore[no-untyped-def]
    """``rates``: momentum, learning rate, what decay leaves.  A unit is sizes[0] elements."""
    for i in range(begin * sizes[0], min(end * sizes[0], parameter.size)):
        velocity[i] = rates[0] * velocity[i] + gradient[i]
        parameter[i] = rates[2] * parameter[i] - rates[1] * velocity[i]


@native
def _adam(  # type: ignore[no-untyped-def]
    parameter, gradient, mean, square, rates, sizes, begin, end
):
    """``rates``: shares of the new gradient in mean and square, step size, correction, epsilon,
    what weight decay leaves.  A unit is sizes[0] elements."""
    for i in range(begin * sizes[0], min(end * sizes[0], parameter.size)):
        mean[i] += rates[0] * (gradient[i] - mean[i])
        square[i] += rates[1] * (gradient[i] * gradient[i] - square[i])
        move = rates[2] * mean[i] / (np.sqrt(square[i]) / rates[3] + rates[4])
        parameter[i] = rates[5] * parameter[i] - move


@cache
def _spread(kernel: Native, dtypes: tuple[str, ...]) -> cpu.Spread:
    return cpu.Spread(kernel, dtypes)


def _run(kernel: Native, arrays: Sequence[NDArray[Any]], rates: Sequence[float]) -> None:
    """Change the first of some arrays, and the arrays after the second, which is the gradient."""
    parameter, gradient, *memory = arrays
    own = np.array(rates, parameter.dtype)
    given = [parameter, np.ascontiguousarray(gradient), *memory, own]
    units = -(-arrays[0].size // _UNIT)
    dtypes = tuple(str(array.dtype) for array in given)
    _spread(kernel, dtypes)(given, cpu.sizes_of(_UNIT), units, cpu.cores())
