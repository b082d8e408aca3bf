"""`loss_gradient`: the loss of each row of outputs, and the gradient of the mean loss of all rows.

Of a row's outputs k, and its label T or the wanted numbers t: ``sum_j (k_j - t_j)^2``, half of it,
``1 - k_T``, ``sum_j k_j (j - T)^2``; and of one output z and a label of 0 or 1 the
cross-entropy of sigmoid(z) in nats.  A label stands for a 1 at its place and else zeros, but of one
output for itself.  The cross-entropy of a softmax is `softmax_cross_entropy`.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.1 and 6.2.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np

from rooftile.errors import InputError, check_word
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem

RowLoss = Literal[
    "squared_error", "half_squared_error", "missed", "squared_distance", "sigmoid_cross_entropy"
]
_SQUARES = {"squared_error": 1.0, "half_squared_error": 0.5}
_SHRUNK = 2**10


@dataclass(frozen=True)
class LossGradient(Problem):
    """y[rows, outputs] and targets to loss[rows] and dy[rows, outputs].

    Targets are labels, int32[rows], below the number of outputs; or, with ``numbers`` and a squared
    error, float32[rows, outputs].  Raises `InputError`.
    """

    operation: ClassVar[str] = "loss_gradient"
    words: ClassVar[str] = "{loss} of {rows} rows of {outputs} outputs"

    rows: int
    outputs: int
    loss: RowLoss = "squared_error"
    numbers: bool = False

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, outputs=self.outputs)
        check_word("loss", self.loss, get_args(RowLoss))
        if self.numbers and self.loss not in _SQUARES:
            raise InputError("targets", f"numbers for {self.loss}", "integer labels")
        if self.loss == "sigmoid_cross_entropy" and self.outputs != 1:
            raise InputError("outputs", self.outputs, f"1 for {self.loss}")

    @property
    def factor(self) -> float:
        """The factor of a square."""
        return _SQUARES.get(self.loss, 1.0)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """y, targets, loss and dy."""
        shape = self.rows, self.outputs
        targets = Array("targets", (self.rows,), "int32")
        if self.numbers:
            targets = Array("targets", shape, operand=False)
        made = (Array("loss", (self.rows,), role="output"), Array("dy", shape, role="output"))
        return (Array("y", shape, operand=False), targets, *made)

    @property
    def flops(self) -> int:
        """Of an output a difference, its square, the sum, and two factors."""
        return 5 * self.rows * self.outputs

    @property
    def reduction(self) -> int:
        """The outputs of a row."""
        return self.outputs

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exponential and logarithm round by a few units besides."""
        return Budget(self.outputs, roundings=4.0)

    def shrunk(self) -> LossGradient:
        return dataclasses.replace(self, rows=min(self.rows, _SHRUNK))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal outputs; labels of every class, or normal numbers."""
        y, targets = super().random(seed)
        return y, targets if self.numbers else self._labels(seed)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The hard inputs of every operation; labels are ordinary."""
        found = super().hard(seed)
        if self.numbers:
            return found
        return {kind: (y, self._labels(seed)) for kind, (y, _) in found.items()}

    def _labels(self, seed: int) -> AnyArray:
        generator = np.random.default_rng([seed, 1])
        return generator.integers(0, max(2, self.outputs), self.rows).astype(np.int32)

    def _aims(self, targets: AnyArray) -> Float64:
        """The target of each output, or 1 at the label's class."""
        if targets.ndim == 2:
            return targets.astype(np.float64)
        if self.outputs == 1:
            return targets.astype(np.float64)[:, None]
        aims: Float64 = np.equal(targets[:, None], np.arange(self.outputs)).astype(np.float64)
        return aims

    def _squares(self, labels: AnyArray) -> Float64:
        """The squared distance of each class from the label."""
        distance = np.subtract(np.arange(self.outputs), labels[:, None], dtype=np.float64)
        squares: Float64 = distance * distance
        return squares

    def reference(self, y: Float32, targets: AnyArray) -> tuple[Float64, Float64]:
        """Losses and the gradient of their mean in float64."""
        k, aims = y.astype(np.float64), self._aims(targets)
        with np.errstate(invalid="ignore"):
            if self.loss in _SQUARES:
                off = k - aims
                return self.factor * (off * off).sum(axis=1), 2 * self.factor * off / self.rows
            if self.loss == "missed":
                return 1 - k[np.arange(self.rows), targets], -aims / self.rows
            if self.loss == "squared_distance":
                squares = self._squares(targets)
                return (k * squares).sum(axis=1), squares / self.rows
            small = np.exp(-np.abs(k))
            losses = np.maximum(k, 0) - k * aims + np.log1p(small)
            likely = np.where(k < 0, small, 1) / (1 + small)
            return losses[:, 0], (likely - aims) / self.rows

    def magnitude(self, y: Float32, targets: AnyArray) -> tuple[Float64, Float64]:
        """Of differences the sum of both magnitudes; of others the terms as they are."""
        k, aims = np.abs(y.astype(np.float64)), np.abs(self._aims(targets))
        with np.errstate(invalid="ignore"):
            if self.loss in _SQUARES:
                both = k + aims
                return self.factor * (both * both).sum(axis=1), 2 * self.factor * both / self.rows
            if self.loss == "missed":
                return 1 + k[np.arange(self.rows), targets], aims / self.rows
            if self.loss == "squared_distance":
                squares = self._squares(targets)
                return (k * squares).sum(axis=1), squares / self.rows
            small = np.exp(-k)
            likely = np.where(y < 0, small, 1) / (1 + small)
            return (k + k * aims + np.log1p(small))[:, 0], (likely + aims) / self.rows


NAMED = {
    "classes-10": LossGradient(2**16, 10),
    "pixels-784": LossGradient(2**12, 784, numbers=True),
}
LARGE = Climbed.of("pixels-784")
