"""`linear_gradient`: what a linear layer's input, weights and bias change in what follows it.

With ``dz = dy * activation'(y)``, the gradient before the activation, ``dx = dz weights``,
``dweights = dz^T x`` and ``dbias`` is dz summed over the items.  The derivative of every
activation follows from its value y.  Where x is the value of another activation, ``before``, dx is
the gradient before that one.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.5, algorithm 6.4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.activation import (
    FusedActivation,
    activation,
    check_fused,
    derivative,
    derivative_terms,
    kept,
)
from rooftile.ops.checks import check_positive
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem


@dataclass(frozen=True)
class LinearGradient(Problem):
    """x[images, inputs], y, dy[images, outputs], weights[outputs, inputs] to dx, dweights, dbias.

    y is the layer's result, or the activation's input where the derivative needs that (gelu).  As
    ``before`` such an activation is refused: x is its value.  Raises `InputError`.
    """

    operation: ClassVar[str] = "linear_gradient"
    words: ClassVar[str] = "{images} rows of {inputs} numbers to {outputs}, {activation}"

    images: int
    inputs: int
    outputs: int
    activation: FusedActivation = "none"
    before: FusedActivation = "none"

    def __post_init__(self) -> None:
        check_positive(images=self.images, inputs=self.inputs, outputs=self.outputs)
        check_fused(self.activation)
        check_fused(self.before)
        if activation(self.before).needs == "z":
            expected = "'none' and activation_gradient after it: x does not tell the derivative"
            raise InputError("before", repr(self.before), expected)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, y, dy, weights, dx[images, inputs], dweights[outputs, inputs] and dbias[outputs]."""
        weights = (self.outputs, self.inputs)
        return (
            Array("x", (self.images, self.inputs)),
            Array("y", (self.images, self.outputs)),
            Array("dy", (self.images, self.outputs)),
            Array("weights", weights),
            Array("dx", (self.images, self.inputs), role="output"),
            Array("dweights", weights, role="output"),
            Array("dbias", (self.outputs,), role="output"),
        )

    @property
    def flops(self) -> int:
        """Two for each item and weight, of dx and of dweights."""
        return 4 * self.images * self.inputs * self.outputs

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The sums go over outputs, or over items; derivatives round three times."""
        return Budget(
            self.outputs if output == self.output_arrays[0] else self.images, roundings=4.0
        )

    def shrunk(self) -> LinearGradient:
        return dataclasses.replace(self, images=min(8, self.images))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal values; x and y as their activations make them."""
        x, y, dy, weights = super().random(seed)
        return kept(self.before, x), kept(self.activation, y), dy, weights

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        found = super().hard(seed)
        return {
            kind: (kept(self.before, x), kept(self.activation, y), dy, weights)
            for kind, (x, y, dy, weights) in found.items()
        }

    def reference(
        self, x: Float32, y: Float32, dy: Float32, weights: Float32
    ) -> tuple[Float64, Float64, Float64]:
        """dx, dweights and dbias in float64."""
        exact = x.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            dz = dy * derivative(self.activation, y.astype(np.float64))
            dx = dz @ weights.astype(np.float64)
            return dx * derivative(self.before, exact), dz.T @ exact, dz.sum(axis=0)

    def magnitude(
        self, x: Float32, y: Float32, dy: Float32, weights: Float32
    ) -> tuple[Float64, Float64, Float64]:
        """The same of magnitudes; of a derivative the magnitudes of its two terms, which may
        cancel."""
        exact = np.abs(x.astype(np.float64))
        with np.errstate(invalid="ignore", over="ignore"):
            dz = np.abs(dy) * derivative_terms(self.activation, y)
            dx = dz @ np.abs(weights.astype(np.float64))
            return dx * derivative_terms(self.before, x), dz.T @ exact, dz.sum(axis=0)


NAMED = {
    "lenet-linear1": LinearGradient(64, 1024, 32, "relu", "relu"),
    "lenet-linear2": LinearGradient(64, 32, 10, "none", "relu"),
}
