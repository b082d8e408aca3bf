"""`pool2d`: max or average pooling of images.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.3.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.ops.layer import Layer
from rooftile.ops.pooling import Pool
from rooftile.ops.problem import Float32, Float64, check_positive


@dataclass(frozen=True)
class Pool2d(Layer):
    """x[batch, channels, height, width] pooled over windows without padding."""

    operation: ClassVar[str] = "pool2d"
    counts: ClassVar[tuple[str, ...]] = ("channels",)

    batch: int
    channels: int
    height: int
    width: int
    pool: Pool

    def __post_init__(self) -> None:
        check_positive(
            batch=self.batch, channels=self.channels, height=self.height, width=self.width
        )
        self.pool.output_size(self.height, self.width)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """[batch, channels, height, width]"""
        return (self.batch, self.channels, self.height, self.width)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """[batch, channels, rows, columns]"""
        return (self.batch, self.channels, *self.pool.output_size(self.height, self.width))

    @property
    def reduction(self) -> int:
        """Area of the window."""
        return self.pool.window[0] * self.pool.window[1]

    @property
    def flops(self) -> int:
        """One comparison or addition for each element of each window."""
        return int(np.prod(self.output_shape)) * self.reduction

    def moved(self) -> dict[str, int]:
        """The rows and columns that windows cover, read once; the output written once."""
        read = self.pool.inputs_read(self.height, self.width)
        return {
            "x": 4 * self.batch * self.channels * math.prod(read),
            "out": 4 * math.prod(self.output_shape),
        }

    def sizes(self) -> dict[str, int]:
        """The rows and columns of the result."""
        rows, columns = self.pool.output_size(self.height, self.width)
        return {"rows": rows, "columns": columns}

    def shrunk(self) -> Pool2d:
        """One image of one channel."""
        return dataclasses.replace(self, batch=1, channels=1)

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        """The result in float64."""
        return self.pool.reference(x.astype(np.float64))

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """Mean (average) or maximum (max) of |x| over each window."""
        return self.pool.reference(np.abs(x.astype(np.float64)))


NAMED = {
    "lenet-pool1": (lambda batch: Pool2d(batch, 4, 80, 80, Pool.of("max", 2)), 1000),
    "lenet-pool2": (lambda batch: Pool2d(batch, 16, 34, 34, Pool.of("max", 4)), 1000),
}
"""Named problems: how to build one for a batch, and the batch where none is given."""
