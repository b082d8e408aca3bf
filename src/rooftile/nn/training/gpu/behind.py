"""Operations after a layer on a device: activations that it does not fuse, and dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

from rooftile.errors import UnsupportedProblem
from rooftile.nn.training.gpu.derivative import times_derivative
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.layers import Stage
from rooftile.ops import Softmax
from rooftile.ops.activation import ACTIVATIONS, Differentiable
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient
from rooftile.ops.layers.bias_activation import BiasActivation
from rooftile.ops.layers.dropout import Dropout


def activation_stage(work: BoundLaunches, name: str, x: Any, shape: tuple[int, ...]) -> Stage:
    """The stage of an activation over x of a shape.  Raises `UnsupportedProblem` for sign."""
    if name == "softmax":
        return SoftmaxStage(work, x, shape)
    if name not in get_args(Differentiable):
        raise UnsupportedProblem("training on a GPU", f"the activation {name}", 'device="cpu"')
    return ActivationStage(work, name, x, shape)


class SoftmaxStage:
    """``y = softmax(x)`` of each row."""

    before = "none"

    def __init__(self, work: BoundLaunches, x: Any, shape: tuple[int, ...]) -> None:
        self._work, self._x, self._rows, self._classes = work, x, shape[0], math.prod(shape[1:])
        self.y = work.floats(math.prod(shape))

    def forward(self) -> None:
        """See `Stage`."""
        self._work.run(Softmax(self._rows, self._classes), self._x, self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._work.run(SoftmaxGradient(self._rows, self._classes), self.y, dz, dx)
        times_derivative(self._work, before, self._x, dx, self._rows * self._classes)


class ActivationStage:
    """``y = activation(x)``, element by element."""

    before = "none"

    def __init__(self, work: BoundLaunches, name: Any, x: Any, shape: tuple[int, ...]) -> None:
        self._work, self._x = work, x
        self._problem = BiasActivation(1, math.prod(shape), name)
        self.y = work.floats(self._problem.size)

    def forward(self) -> None:
        """See `Stage`."""
        self._work.run(self._problem, self._x, self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        p = self._problem
        given = self._x if ACTIVATIONS[p.activation].needs == "z" else self.y
        self._work.run(ActivationGradient(p.size, p.activation), given, dz, dx)
        times_derivative(self._work, before, self._x, dx, p.size)


class DropoutStage:
    """A dropout of x, and of its gradient."""

    before = "none"

    def __init__(self, work: BoundLaunches, problem: Dropout, x: Any, *when: Any) -> None:
        """``when``: the buffers of rates and of the step."""
        self._work, self._problem, self._x, self._when = work, problem, x, when
        self.y = work.floats(problem.size)

    def forward(self) -> None:
        """See `Stage`."""
        self._work.run(self._problem, self._x, *self._when, self.y)

    def backward(self, dz: Any, gradients: Sequence[Any], dx: Any, before: str) -> None:
        """See `Stage`."""
        self._work.run(self._problem, dz, *self._when, dx)
        times_derivative(self._work, before, self._x, dx, self._problem.size)
