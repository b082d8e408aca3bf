"""`softmax_gradient`: ``dx = y * (dy - sum(dy * y))`` along the last axis, where y is a softmax.

The Jacobian of a row is ``diag(y) - y y^T``, which no one writes down: its product with dy needs
one sum.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.2.2.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem


@dataclass(frozen=True)
class SoftmaxGradient(Problem):
    """y[batch, classes], probabilities, and dy of that shape to dx.  Raises `InputError`."""

    operation: ClassVar[str] = "softmax_gradient"
    words: ClassVar[str] = "{batch} rows of {classes} scores"

    batch: int
    classes: int

    def __post_init__(self) -> None:
        check_positive(batch=self.batch, classes=self.classes)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """y, dy and dx."""
        shape = (self.batch, self.classes)
        given = Array("y", shape, batched=True), Array("dy", shape, batched=True)
        return (*given, Array("dx", shape, role="output", batched=True))

    @property
    def flops(self) -> int:
        """Two for each element's share of the sum, and two for the result."""
        return 4 * self.batch * self.classes

    @property
    def reduction(self) -> int:
        """The classes."""
        return self.classes

    def with_batch(self, batch: int) -> SoftmaxGradient:
        return dataclasses.replace(self, batch=batch)

    def shrunk(self) -> SoftmaxGradient:
        return self.with_batch(1)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Probabilities of normal scores, and normal gradients."""
        x, dy = super().random(seed)
        e = np.exp(x)
        return (e / e.sum(axis=1, keepdims=True)).astype(np.float32), dy

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The hard gradients of every operation; and rows of one certain class."""
        y = self.random(seed)[0]
        certain = np.zeros_like(y)
        certain[:, 0] = 1
        found = {kind: (y, dy) for kind, (_, dy) in super().hard(seed).items()}
        return {**found, "certain": (certain, self.random(seed)[1])}

    def reference(self, y: Float32, dy: Float32) -> Float64:
        """dx in float64."""
        exact, given = y.astype(np.float64), dy.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            found: Float64 = exact * (given - (exact * given).sum(axis=1, keepdims=True))
        return found

    def magnitude(self, y: Float32, dy: Float32) -> Float64:
        """The same with all terms added."""
        exact, given = np.abs(y.astype(np.float64)), np.abs(dy.astype(np.float64))
        with np.errstate(invalid="ignore", over="ignore"):
            found: Float64 = exact * (given + (exact * given).sum(axis=1, keepdims=True))
        return found


NAMED = {
    "classes-10": (lambda batch: SoftmaxGradient(batch, 10), 1000),
    "classes-1000": (lambda batch: SoftmaxGradient(batch, 1000), 256),
}
LARGE = Climbed.of("classes-1000")
