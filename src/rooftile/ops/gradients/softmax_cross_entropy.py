"""`softmax_cross_entropy`: the loss of scores whose right class is known, and its gradient.

``loss[n] = log(sum_k exp(x[n,k])) - x[n,label]`` in nats, and ``dx = (softmax(x) - 1[k = label]) /
divisor``: with the number of items as divisor that of the mean loss.  With weights of the classes
loss and dx of a row are multiplied by the weight of its label.  A row whose label is the ignored
one, or no class, has the loss 0 and the gradient 0.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.2.2.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooftile.ops.checks import check_positive, check_reach
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.fields import LATER
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem

IGNORED = -100
"""The label that is ignored unless another one is chosen, as in PyTorch."""


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Problem):
    """x[batch, classes] and labels int32[batch] to loss[batch] and dx.

    dx has x's shape, and is divided by ``divisor``.  With ``weighted`` there is an input
    weights[classes] too.  Rows with the label ``ignored``, or with one that is no class, give
    zeros.  Raises `InputError`.
    """

    operation: ClassVar[str] = "softmax_cross_entropy"
    words: ClassVar[str] = "{batch} rows of {classes} scores"

    batch: int
    classes: int
    divisor: int = field(default=1, metadata=SIZE)
    weighted: bool = field(default=False, metadata=LATER)
    ignored: int = field(default=IGNORED, metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(batch=self.batch, classes=self.classes)
        check_reach(divisor=self.divisor)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, labels, weights where there are any, loss and dx."""
        scores = (self.batch, self.classes)
        weights = (Array("weights", (self.classes,), operand=False),) if self.weighted else ()
        return (
            Array("x", scores, batched=True, operand=False),
            Array("labels", (self.batch,), "int32", batched=True),
            *weights,
            Array("loss", (self.batch,), role="output", batched=True),
            Array("dx", scores, role="output", batched=True),
        )

    @property
    def flops(self) -> int:
        """Six for each score: maximum, subtraction, exponential, sum, two factors."""
        return 6 * self.batch * self.classes

    @property
    def reduction(self) -> int:
        """The classes."""
        return self.classes

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exponential, logarithm and division round by a few units besides."""
        return Budget(self.classes, roundings=4.0)

    def with_batch(self, batch: int) -> SoftmaxCrossEntropy:
        return dataclasses.replace(self, batch=batch)

    def shrunk(self) -> SoftmaxCrossEntropy:
        return self.with_batch(1)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal scores; labels of every class, some ignored and some no class where there are
        weights, which are positive."""
        generator = np.random.default_rng([seed, 1])
        labels = generator.integers(0, self.classes, self.batch).astype(np.int32)
        x = super().random(seed)[0]
        if not self.weighted:
            return x, labels
        labels[generator.integers(0, 5, self.batch) == 0] = self.ignored
        labels[generator.integers(0, 7, self.batch) == 0] = self.classes + seed % 10**6
        return x, labels, generator.uniform(0.5, 2, self.classes).astype(np.float32)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The hard scores of every operation; labels are ordinary."""
        others = self.random(seed)[1:]
        return {kind: (x, *others) for kind, (x, *_) in super().hard(seed).items()}

    def reference(
        self, x: Float32, labels: NDArray[np.int32], *weights: Float32
    ) -> tuple[Float64, Float64]:
        """Loss and dx in float64."""
        z, rows = x.astype(np.float64), np.arange(len(x))
        counted, classes, factors = self._counted(labels, *weights)
        with np.errstate(invalid="ignore"):
            shifted = z - z.max(axis=1, keepdims=True)
            e = np.exp(shifted)
            total = e.sum(axis=1)
            dx: Float64 = e / total[:, None]
            dx[rows, classes] -= 1
            loss = (np.log(total) - shifted[rows, classes]) * factors
            dx *= factors[:, None] / self.divisor
        return np.where(counted, loss, 0), np.where(counted[:, None], dx, 0)

    def magnitude(
        self, x: Float32, labels: NDArray[np.int32], *weights: Float32
    ) -> tuple[Float64, Float64]:
        """Of the loss the distance to the largest score, and one; of dx the probability times its
        exponent's magnitude, and the subtracted one."""
        z, rows = x.astype(np.float64), np.arange(len(x))
        counted, classes, factors = self._counted(labels, *(np.abs(w) for w in weights))
        with np.errstate(invalid="ignore"):
            distance = np.abs(z - z.max(axis=1, keepdims=True))
            e = np.exp(-distance)
            probability = e / e.sum(axis=1, keepdims=True)
            dx = probability * (1 + distance)
            dx[rows, classes] += 1
            loss = (1 + np.log(e.sum(axis=1)) + distance[rows, classes]) * factors
            dx *= factors[:, None] / self.divisor
        return np.where(counted, loss, 0), np.where(counted[:, None], dx, 0)

    def _counted(
        self, labels: NDArray[np.int32], *weights: Float32
    ) -> tuple[NDArray[np.bool_], NDArray[np.int32], Float64]:
        """True for rows that count, the classes of all rows (0 where a row does not count), and the
        factors of all rows."""
        counted = (labels >= 0) & (labels < self.classes) & (labels != self.ignored)
        classes = np.where(counted, labels, 0).astype(np.int32)
        factors = np.ones(len(labels))
        if weights:
            factors = weights[0].astype(np.float64)[classes]
        return counted, classes, factors


NAMED = {
    "classes-10": (lambda batch: SoftmaxCrossEntropy(batch, 10), 64),
    "classes-1000": (lambda batch: SoftmaxCrossEntropy(batch, 1000), 256),
}
LARGE = Climbed.of("classes-1000")
