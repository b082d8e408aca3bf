"""`pool2d`: max, average, L2 or weighted pooling of images, followed by bias and activation.

``y[n,c] = activation(pool(x[n,c]) + bias[c])``.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.3; LeCun, Bottou, Bengio,
Haffner, "Gradient-Based Learning Applied to Document Recognition", Proc. IEEE 86 (1998), section
II.B (averages followed by a bias and a sigmoid).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rooftile.ops.activation import roundings
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.fields import LATER
from rooftile.ops.judgement import Budget
from rooftile.ops.layers.layer import Layer
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import Array, Float32, Float64


@dataclass(frozen=True)
class Pool2d(Layer):
    """x[batch, channels, height, width] pooled over windows without padding.

    A weighted pool has the parameter weights[*window], and ``bias`` adds bias[channels].
    """

    operation: ClassVar[str] = "pool2d"
    words: ClassVar[str] = "{batch} images of {channels} x {height} x {width}, {pool}{bias?, bias|}"
    counts: ClassVar[tuple[str, ...]] = ("channels",)

    batch: int
    channels: int
    height: int
    width: int
    pool: Pool
    bias: bool = field(default=False, metadata=LATER)

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
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """weights[*window] of a weighted pool, bias[channels] where there is one."""
        weights = {"weights": self.pool.window} if self.pool.kind == "weighted" else {}
        return {**weights, **({"bias": (self.channels,)} if self.bias else {})}

    @property
    def output_shape(self) -> tuple[int, ...]:
        """[batch, channels, rows, columns]"""
        return (self.batch, self.channels, *self.pool.output_size(self.height, self.width))

    @property
    def reduction(self) -> int:
        """Area of the window, and the bias."""
        return self.pool.window[0] * self.pool.window[1] + self.bias

    @property
    def flops(self) -> int:
        """One comparison or addition for each element of each window, and its multiplication."""
        each = 2 if self.pool.kind in ("l2", "weighted") else 1
        terms = each * math.prod(self.pool.window) + self.bias
        return math.prod(self.output_shape) * terms

    def moved(self) -> dict[str, int]:
        """The rows and columns that windows cover, read once; parameters and the output once."""
        read = self.pool.inputs_read(self.height, self.width)
        return {
            "x": 4 * self.batch * self.channels * math.prod(read),
            **{name: 4 * math.prod(shape) for name, shape in self.parameter_shapes.items()},
            "out": 4 * math.prod(self.output_shape),
        }

    def judgement(self, output: Array, model: ErrorModel) -> Budget:
        """The budget of the window's sum, with what the activation rounds."""
        return Budget(self.reduction, roundings(self.pool.activation))

    def sizes(self) -> dict[str, int]:
        rows, columns = self.pool.output_size(self.height, self.width)
        return {"rows": rows, "columns": columns}

    def shrunk(self) -> Pool2d:
        return dataclasses.replace(self, batch=1, channels=1)

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        return self.pool.activated(self._before(x, parameters))

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """The pool of |x|, by |weights|, and |bias|."""
        return self._before(np.abs(x), tuple(np.abs(p) for p in parameters))

    def _before(self, x: Float32, parameters: tuple[Float32, ...]) -> Float64:
        """The result before the activation."""
        given = dict(zip(self.parameter_shapes, parameters, strict=True))
        weights = given.get("weights")
        pooled = self.pool.pooled(
            x.astype(np.float64), None if weights is None else weights.astype(np.float64)
        )
        return pooled + given["bias"][:, None, None] if self.bias else pooled


NAMED = {
    "lenet-pool1": (lambda batch: Pool2d(batch, 4, 80, 80, Pool.of("max", 2)), 1000),
    "lenet-pool2": (lambda batch: Pool2d(batch, 16, 34, 34, Pool.of("max", 4)), 1000),
    # The subsampling of the first LeNet: averages, a bias a channel, a sigmoid.
    "lenet-subsampling1": (
        lambda batch: Pool2d(batch, 6, 28, 28, Pool.of("average", 2, None, "sigmoid"), True),
        1000,
    ),
}
LARGE = Climbed.of("lenet-pool1", batch=10000)
