"""`linear`: a fully connected layer with bias and activation fused.

``y = activation(x w^T + b)``.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), chapter 6.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rooftile.ops.activation import FusedActivation, activation, check_fused, roundings
from rooftile.ops.checks import check_computed, check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.fields import LATER
from rooftile.ops.judgement import Budget
from rooftile.ops.layers.layer import Layer
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import Array, Computed, Float32, Float64


@dataclass(frozen=True)
class Linear(Layer):
    """x[batch, inputs], weights[outputs, inputs], bias[outputs]."""

    operation: ClassVar[str] = "linear"
    words: ClassVar[str] = "{batch} rows of {inputs} numbers to {outputs}, {activation}"

    batch: int
    inputs: int
    outputs: int
    activation: FusedActivation = "none"
    dtype: Computed = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(batch=self.batch, inputs=self.inputs, outputs=self.outputs)
        check_fused(self.activation)
        check_computed(self.dtype)

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    @property
    def input_shape(self) -> tuple[int, ...]:
        """[batch, inputs]"""
        return (self.batch, self.inputs)

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """weights[outputs, inputs] and bias[outputs]"""
        return {"weights": (self.outputs, self.inputs), "bias": (self.outputs,)}

    @property
    def output_shape(self) -> tuple[int, ...]:
        """[batch, outputs]"""
        return (self.batch, self.outputs)

    @property
    def affine(self) -> bool:
        """Without an activation."""
        return self.activation == "none"

    @property
    def reduction(self) -> int:
        """The inputs, and the bias."""
        return self.inputs + 1

    @property
    def flops(self) -> int:
        """Two for each weight and batch item."""
        return 2 * self.batch * self.inputs * self.outputs

    def judgement(self, output: Array, model: ErrorModel) -> Budget:
        """The budget counts the inputs of a neuron and the roundings inside its activation."""
        return Budget(self.reduction, roundings(self.activation))

    def shrunk(self) -> Linear:
        return dataclasses.replace(self, batch=min(4, self.batch))

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        weights, bias = (p.astype(np.float64) for p in parameters)
        with np.errstate(invalid="ignore", over="ignore"):
            z = x.astype(np.float64) @ weights.T + bias
        y: Float64 = activation(self.activation).value(z).astype(np.float64)
        return y

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """Sum of |x||w| and |bias| of each output's terms."""
        weights, bias = (np.abs(p.astype(np.float64)) for p in parameters)
        with np.errstate(invalid="ignore", over="ignore"):
            z: Float64 = np.abs(x.astype(np.float64)) @ weights.T + bias
        return z


NAMED = {
    "lenet-linear1": (lambda batch: Linear(batch, 1024, 32, "relu"), 1000),
    "lenet-linear2": (lambda batch: Linear(batch, 32, 10), 1000),
    "mnist-linear1": (lambda batch: Linear(batch, 6272, 512, "relu"), 256),
    "mnist-linear2": (lambda batch: Linear(batch, 512, 10), 256),
}
LARGE = Climbed.of("mnist-linear1")
