"""`linear_cross_entropy`: the last layers of a network, their loss and its gradient in one call.

The scores of a linear layer ``x weights^T + bias``, the cross-entropy of their softmax with labels
in nats, the gradient ``dz`` of its mean over the images, and that of x: ``dz weights``, before the
activation whose value x is.  With ``features`` a second linear layer stands below.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.2.3 and 6.5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.ops.activation import (
    FusedActivation,
    activation,
    check_fused,
    derivative,
    derivative_terms,
    kept,
)
from rooftile.ops.checks import check_positive, is_whole
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float64, Problem

_GRID = 64.0
"""Random numbers of two layers are multiples of its reciprocal, so that sums of their products are
exact: the derivative of relu then sees the same sign whatever the order of a sum."""
_LEFT_OUT = ("ties", "many decades")
"""Hard numbers that no budget admits of a softmax of sums: of equal terms every sum rounds the same
way, and an exponential makes a factor of the error of a large score."""


@dataclass(frozen=True)
class LinearCrossEntropy(Problem):
    """x[images, inputs], weights[outputs, inputs], bias[outputs] and labels[images], int32, to
    dx[images, inputs], loss[images] and dz[images, outputs].

    x is the value of the activation ``before``. With ``features`` above 0 x[images, features] is
    the value of ``below``; first_weights[inputs, features] and first_bias[inputs] come after it,
    and before dx the outputs hidden[images, inputs], the value of ``before``, and hidden_dz[images,
    inputs], the gradient before that. With ``scaled`` gradients are multiplied by scaling[0] of an
    input scaling[2] after the labels. ``settled`` promises that the launch before changes no
    weights or biases, so that they may be read before it is over. An activation whose derivative
    needs its input is refused. Raises `InputError`.
    """

    operation: ClassVar[str] = "linear_cross_entropy"
    words: ClassVar[str] = "{images} rows of {inputs} numbers to {outputs} classes"

    images: int
    inputs: int
    outputs: int
    before: FusedActivation = "none"
    features: int = 0
    below: FusedActivation = "none"
    scaled: bool = False
    settled: bool = field(default=False, metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(images=self.images, inputs=self.inputs, outputs=self.outputs)
        if not is_whole(self.features) or self.features < 0:
            raise InputError("features", repr(self.features), "an integer of at least 0")
        for name in ("before", "below"):
            given = getattr(self, name)
            check_fused(given)
            if activation(given).needs == "z":
                expected = "'none' and activation_gradient after it: its value does not tell it"
                raise InputError(name, repr(given), expected)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays of the class, in its order."""
        images, inputs, outputs, features = self.images, self.inputs, self.outputs, self.features
        first: tuple[Array, ...] = ()
        last: tuple[Array, ...] = ()
        if features:
            first = Array("first_weights", (inputs, features)), Array("first_bias", (inputs,))
            last = tuple(
                Array(name, (images, inputs), role="output") for name in ("hidden", "hidden_dz")
            )
        scaling = (Array("scaling", (2,)),) if self.scaled else ()
        given = (
            Array("x", (images, features or inputs)),
            *first,
            Array("weights", (outputs, inputs)),
            Array("bias", (outputs,)),
            Array("labels", (images,), "int32"),
            *scaling,
        )
        made = {"dx": (images, features or inputs), "loss": (images,), "dz": (images, outputs)}
        return (
            *(dataclasses.replace(array, operand=False) for array in given),
            *last,
            *(Array(name, shape, role="output") for name, shape in made.items()),
        )

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of each layer."""
        first = ((self.features, self.inputs),) if self.features else ()
        return (*first, (self.inputs, self.outputs))

    @property
    def products(self) -> int:
        """Multiplications of the last layer."""
        return self.images * self.inputs * self.outputs

    @property
    def flops(self) -> int:
        """Two products of each layer, and six operations for each score."""
        first = self.images * self.inputs * self.features
        return 4 * (self.products + first) + 6 * self.images * self.outputs

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Sums over features, inputs and outputs; exponential and logarithm round besides."""
        return Budget(self.features + self.inputs + self.outputs, roundings=4.0)

    def shrunk(self) -> LinearCrossEntropy:
        """Few images."""
        return dataclasses.replace(self, images=min(8, self.images))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal numbers, weights such that scores are of order one; labels of every class."""
        return self._possible(super().random(seed), seed)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Hard numbers for which a softmax of sums has a budget; ordinary labels."""
        return {
            kind: self._possible(given, seed)
            for kind, given in super().hard(seed).items()
            if kind not in _LEFT_OUT
        }

    def _possible(self, given: tuple[AnyArray, ...], seed: int) -> tuple[AnyArray, ...]:
        generator = np.random.default_rng([seed, 1])
        labels = generator.integers(0, self.outputs, self.images).astype(np.int32)
        x, *rest = given
        x = kept(self.below if self.features else self.before, x)
        found = [x, *rest]
        for number, array in enumerate(found):
            if number > 0 and array.ndim == 2:
                found[number] = (array / np.sqrt(np.float32(array.shape[1]))).astype(np.float32)
        if self.features:
            found[:3] = [self._on_grid(array) for array in found[:3]]
        behind = 3 + 2 * bool(self.features)
        found[behind] = labels
        if self.scaled:
            found[-1] = np.array([2.0 ** generator.integers(0, 9), 3], np.float32)
        return tuple(found)

    @staticmethod
    def _on_grid(array: AnyArray) -> AnyArray:
        """The nearest multiples of the grid; what is no number, or too small for it, stays."""
        coarse = (np.round(array * _GRID) / _GRID).astype(np.float32)
        tiny = np.abs(array) < np.float32(2.0**-100)
        return np.where(np.isfinite(array) & ~tiny, coarse, array)

    def reference(self, *given: AnyArray) -> tuple[Float64, ...]:
        """The outputs in float64."""
        return self._made(given)[0]

    def magnitude(self, *given: AnyArray) -> tuple[Float64, ...]:
        """The reach of an error of each sum's terms: of scores into probabilities, of these into
        gradients."""
        return self._made(given)[1]

    def _made(self, given: tuple[AnyArray, ...]) -> tuple[tuple[Float64, ...], tuple[Float64, ...]]:
        """The outputs, and their magnitudes."""
        exact = [one.astype(np.float64) for one in given]
        x, *parameters = exact
        labels = given[3 + 2 * bool(self.features)]
        scale = exact[-1][0] if self.scaled else 1.0
        weights, bias = parameters[-3 - self.scaled : -1 - self.scaled]
        hidden, of_hidden = x, np.abs(x)
        with np.errstate(invalid="ignore", over="ignore"):
            if self.features:
                first, first_bias = parameters[:2]
                z = x @ first.T + first_bias
                hidden = activation(self.before).value(z).astype(np.float64, copy=False)
                of_hidden = np.abs(x) @ np.abs(first).T + np.abs(first_bias)
            z = hidden @ weights.T + bias
            of_z = of_hidden @ np.abs(weights).T + np.abs(bias)
            loss, of_loss, dz, of_dz = self._loss(z, of_z, labels, scale)
            change = derivative(self.before, hidden)
            of_change = derivative_terms(self.before, hidden)
            if self.features:
                # The derivative is that of a value with an error of its own.
                curved = self.before not in ("none", "relu")
                of_change = of_change + (2 * of_hidden if curved else 0)
            dx, of_dx = (dz @ weights) * change, (of_dz @ np.abs(weights)) * of_change
            if not self.features:
                return (dx, loss, dz), (of_dx, of_loss, of_dz)
            below, of_below = derivative(self.below, x), derivative_terms(self.below, x)
            whole, of_whole = (dx @ first) * below, (of_dx @ np.abs(first)) * of_below
        return (hidden, dx, whole, loss, dz), (of_hidden + 1, of_dx, of_whole, of_loss, of_dz)

    def _loss(
        self, z: Float64, of_z: Float64, labels: NDArray[np.int32], scale: float
    ) -> tuple[Float64, ...]:
        """Losses and the gradient of their scaled mean, each followed by its magnitude."""
        rows = np.arange(len(z))
        shifted = z - z.max(axis=1, keepdims=True)
        e = np.exp(shifted)
        total = e.sum(axis=1)
        likely = e / total[:, None]
        loss = np.log(total) - shifted[rows, labels]
        largest = of_z.max(axis=1)
        of_loss = 1 + np.log(total) + np.abs(shifted[rows, labels]) + 2 * largest
        reached = of_z + (likely * of_z).sum(axis=1, keepdims=True) + largest[:, None]
        of_dz = likely * (1 + np.abs(shifted) + reached)
        of_dz[rows, labels] += 1
        dz = likely
        dz[rows, labels] -= 1
        factor = scale / self.images
        return loss, of_loss, factor * dz, factor * of_dz


NAMED = {
    "lenet5": LinearCrossEntropy(64, 32, 10, "relu", 1024, "relu"),
    "lenet5-last": LinearCrossEntropy(64, 32, 10, "relu"),
    "mnist8-last": LinearCrossEntropy(256, 512, 10, "relu"),
}
LARGE = Climbed.of("mnist8-last")
