"""`activation_gradient`: ``dx = dy * f'(x)``, where ``y = f(x)`` is an activation's value.

The derivative follows from y: of relu 1 where y is above zero, else 0; of sigmoid ``y (1 - y)``, of
tanh ``1 - y^2``, of softplus ``1 - exp(-y)``.  That of gelu follows from x, which stands in y's
place.  Sign has none that anything could be learnt from.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2 and 6.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.ops.activation import Differentiable, derivative, derivative_terms, kept
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class ActivationGradient(Problem):
    """y[size] and dy[size] to dx[size].  Raises `InputError`, also for sign."""

    operation: ClassVar[str] = "activation_gradient"
    words: ClassVar[str] = "{size} elements after {activation}"

    size: int
    activation: Differentiable = "relu"

    def __post_init__(self) -> None:
        check_positive(size=self.size)
        derivative(self.activation, np.zeros(1))

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """y, dy and dx."""
        shape = (self.size,)
        return Array("y", shape), Array("dy", shape), Array("dx", shape, role="output")

    @property
    def flops(self) -> int:
        """A product and at most two operations of the derivative."""
        return 3 * self.size

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The derivative and the product are rounded; an exponential by two units."""
        return Budget(1, roundings=4.0)

    def shrunk(self) -> ActivationGradient:
        return dataclasses.replace(self, size=min(self.size, _SHRUNK))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal values; y as the activation makes it."""
        y, dy = super().random(seed)
        return kept(self.activation, y), dy

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        return {
            kind: (kept(self.activation, y), dy) for kind, (y, dy) in super().hard(seed).items()
        }

    def reference(self, y: Float32, dy: Float32) -> Float64:
        """dx in float64."""
        with np.errstate(invalid="ignore", over="ignore"):
            return dy.astype(np.float64) * derivative(self.activation, y.astype(np.float64))

    def magnitude(self, y: Float32, dy: Float32) -> Float64:
        """|dy| times the magnitudes of the derivative's terms, which may cancel."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.abs(dy.astype(np.float64)) * derivative_terms(self.activation, y)


NAMED = {
    "relu": ActivationGradient(2**24),
    "relu-small": ActivationGradient(2**21),
    "softplus": ActivationGradient(2**24, "softplus"),
}
TEXTBOOK = Climbed.of("relu-small")
LARGE = Climbed.of("relu")
