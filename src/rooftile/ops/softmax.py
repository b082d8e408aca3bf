"""`softmax`: ``exp(x - max) / sum(exp(x - max))`` along the last axis.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.ops.problem import Float32, Float64, check_positive, float_bytes


@dataclass(frozen=True)
class Softmax:
    """x[batch, classes] to probabilities of the same shape."""

    operation: ClassVar[str] = "softmax"

    batch: int
    classes: int

    def __post_init__(self) -> None:
        check_positive(batch=self.batch, classes=self.classes)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """[batch, classes]"""
        return (self.batch, self.classes)

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """None."""
        return {}

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
        """Five an element: maximum, subtraction, exponential, sum, division."""
        return 5 * self.batch * self.classes

    @property
    def bytes(self) -> int:
        """Input read once, output written once."""
        return float_bytes(self.input_shape, self.output_shape)

    def with_batch(self, batch: int) -> Softmax:
        """The same problem for another batch."""
        return dataclasses.replace(self, batch=batch)

    def shrunk(self) -> Softmax:
        """One row."""
        return self.with_batch(1)

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        """The result in float64."""
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
"""Named problems: how to build one for a batch, and the batch where none is given."""
