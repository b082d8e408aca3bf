"""`softmax`: ``exp(x - max) / sum(exp(x - max))`` along the last axis.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.layers.layer import Layer
from rooftile.ops.problem import Float32, Float64


@dataclass(frozen=True)
class Softmax(Layer):
    """x[batch, classes] to probabilities of the same shape."""

    operation: ClassVar[str] = "softmax"
    words: ClassVar[str] = "{batch} rows of {classes} scores"
    adds_errors: ClassVar[bool] = False

    batch: int
    classes: int

    def __post_init__(self) -> None:
        check_positive(batch=self.batch, classes=self.classes)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """[batch, classes]"""
        return (self.batch, self.classes)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """[batch, classes]"""
        return (self.batch, self.classes)

    @property
    def reduction(self) -> int:
        """The classes."""
        return self.classes

    @property
    def flops(self) -> int:
        """Five for each element: maximum, subtraction, exponential, sum, division."""
        return 5 * self.batch * self.classes

    def shrunk(self) -> Softmax:
        return self.with_batch(1)

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        z = x.astype(np.float64)
        with np.errstate(invalid="ignore"):
            e = np.exp(z - z.max(axis=1, keepdims=True))
            y: Float64 = e / e.sum(axis=1, keepdims=True)
        return y

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """The result itself times ``1 + |x - max|``: the exponent's error grows with it."""
        z = x.astype(np.float64)
        with np.errstate(invalid="ignore"):
            distance: Float64 = np.abs(z - z.max(axis=1, keepdims=True))
            return self.reference(x) * (1 + distance)


NAMED = {
    "classes-10": (lambda batch: Softmax(batch, 10), 1000),
    "classes-1000": (lambda batch: Softmax(batch, 1000), 256),
}
LARGE = Climbed.of("classes-1000")
