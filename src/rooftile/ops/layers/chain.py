"""Several operations, each fed by the one before: a whole network as one problem.

A `Chain` is a `Problem`, so whatever verifies and times one operation does so for
a network too.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.formats import format_of
from rooftile.ops.judgement import Normwise
from rooftile.ops.layers.layer import Layer
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import Array, Float32, Float64

_LAYERS_UNITS = 8.0
"""The most that the errors of all layers together may be, in units of the rounded operands."""


@dataclass(frozen=True)
class Chain(Layer):
    """Named problems of one batch size; images are flattened where the next layer wants rows.

    Raises `InputError` when a layer's output does not fit the next layer's input.
    """

    operation: ClassVar[str] = "network"

    layers: tuple[tuple[str, Layer], ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise InputError("layers", "none", "at least one")
        for name, problem in self.layers:
            if not problem.adds_errors:
                raise InputError(
                    "layers", f"{problem.operation} {name!r}", "layers whose errors add linearly"
                )
        for (_, before), (name, after) in zip(self.layers, self.layers[1:], strict=False):
            given, wanted = before.output_shape, after.input_shape
            if given[0] != wanted[0] or math.prod(given) != math.prod(wanted):
                raise InputError(f"layer {name!r}", f"an input of {given}", f"{wanted}")

    def described_features(self) -> dict[str, str]:
        """The features of its layers."""
        return {
            feature: words
            for problem in self.problems
            for feature, words in problem.described_features().items()
        }

    @property
    def problems(self) -> tuple[Layer, ...]:
        """The problems without their names."""
        return tuple(problem for _, problem in self.layers)

    @property
    def batch(self) -> int:  # type: ignore[override]
        """Number of independent inputs."""
        return self.problems[0].batch

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The first layer's input shape."""
        return self.problems[0].input_shape

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of every layer's parameters, called ``layer.parameter``."""
        return {
            f"{layer}.{name}": shape
            for layer, problem in self.layers
            for name, shape in problem.parameter_shapes.items()
        }

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The last layer's output shape."""
        return self.problems[-1].output_shape

    @property
    def reduction(self) -> int:
        """The sum of the layers' reductions, which is the number of roundings of one output."""
        return sum(problem.reduction for problem in self.problems)

    @property
    def flops(self) -> int:
        """The sum of the layers' FLOPs."""
        return sum(problem.flops for problem in self.problems)

    def judgement(self, output: Array, model: ErrorModel) -> Normwise:
        """The norm of the errors of an image's scores has a limit: that of one sum of all terms.

        A budget by magnitudes, which grow from layer to layer much faster than errors do, would
        admit errors a thousand times larger.  Where operands are rounded, each layer rounds its
        own, and no reference repeats that: it adds errors of about one unit, which the next layer
        on the average neither enlarges nor shrinks.
        """
        if model.operands == "float32":
            return Normwise(model.factor * model.unit * math.sqrt(self.reduction))
        return Normwise(_LAYERS_UNITS * format_of(model.operands).unit)

    def with_batch(self, batch: int) -> Chain:
        layers = tuple((name, problem.with_batch(batch)) for name, problem in self.layers)
        return dataclasses.replace(self, layers=layers)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The input, every layer's parameters, called ``layer.parameter``, the output."""
        parameters = (
            replace(array, name=f"{name}.{array.name}")
            for name, layer in self.layers
            for array in layer.parameter_arrays
        )
        return (self.problems[0].arrays[0], *parameters, *self.problems[-1].output_arrays)

    def random_parameters(self, generator: np.random.Generator) -> tuple[Float32, ...]:
        """Each layer's own random parameters, in order."""
        return tuple(a for layer in self.problems for a in layer.random_parameters(generator))

    def shrunk(self) -> Chain:
        return self.with_batch(1)

    def shares(self, parameters: Sequence[Float32]) -> Iterator[tuple[Layer, tuple[Float32, ...]]]:
        """Each layer's problem with its own parameters."""
        start = 0
        for problem in self.problems:
            count = len(problem.parameter_shapes)
            yield problem, tuple(parameters[start : start + count])
            start += count

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        """The result in float64 throughout."""
        y: Float64 = x.astype("float64")
        for problem, own in self.shares(parameters):
            # References accept float64 inputs: rounding between layers would hide in the budget.
            y = problem.reference(y.reshape(problem.input_shape), *own)
        return y

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """Sum of the magnitudes of the terms of each output, through all layers."""
        y: Float64 = x.astype("float64")
        for problem, own in self.shares(parameters):
            y = problem.magnitude(y.reshape(problem.input_shape), *own)
        return y
