"""Several operations, each fed by the one before: a whole network as one problem.

A `Chain` is a `Problem`, so whatever verifies and times one operation does so for
a network too.  Its budget is the forward error bound of the composition: the
magnitude of a layer's terms is what the next layer multiplies.

Source: Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed. (2002),
section 3.5, on products of matrices.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rooftile.errors import InputError
from rooftile.ops.problem import Float32, Float64, Problem
from rooftile.ops.softmax import Softmax


@dataclass(frozen=True)
class Chain:
    """Named problems of one batch size; images are flattened where the next layer wants rows.

    Raises `InputError` when a layer's output does not fit the next layer's input.
    """

    operation: ClassVar[str] = "network"

    layers: tuple[tuple[str, Problem], ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise InputError("layers", "none", "at least one")
        for name, problem in self.layers:
            if isinstance(problem, Softmax):
                raise InputError("layers", f"softmax {name!r}", "layers whose errors add linearly")
        for (_, before), (name, after) in zip(self.layers, self.layers[1:], strict=False):
            given, wanted = before.output_shape, after.input_shape
            if given[0] != wanted[0] or math.prod(given) != math.prod(wanted):
                raise InputError(f"layer {name!r}", f"an input of {given}", f"{wanted}")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems without their names."""
        return tuple(problem for _, problem in self.layers)

    @property
    def batch(self) -> int:
        """Number of independent inputs."""
        return self.problems[0].batch

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The first layer's."""
        return self.problems[0].input_shape

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Every layer's, called ``layer.parameter``."""
        return {
            f"{layer}.{name}": shape
            for layer, problem in self.layers
            for name, shape in problem.parameter_shapes.items()
        }

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The last layer's."""
        return self.problems[-1].output_shape

    @property
    def reduction(self) -> int:
        """The layers' together: so many roundings can lie behind one output."""
        return sum(problem.reduction for problem in self.problems)

    @property
    def flops(self) -> int:
        """The layers' together."""
        return sum(problem.flops for problem in self.problems)

    @property
    def bytes(self) -> int:
        """Input and parameters read once, output written once; nothing for what lies between."""
        shapes = (self.input_shape, *self.parameter_shapes.values(), self.output_shape)
        return 4 * sum(math.prod(shape) for shape in shapes)

    def with_batch(self, batch: int) -> Chain:
        """The same network for another batch."""
        layers = tuple((name, problem.with_batch(batch)) for name, problem in self.layers)
        return dataclasses.replace(self, layers=layers)

    def shrunk(self) -> Chain:
        """One image."""
        return self.with_batch(1)

    def shares(
        self, parameters: tuple[Float32, ...]
    ) -> Iterator[tuple[Problem, tuple[Float32, ...]]]:
        """Each layer's problem with its own parameters."""
        start = 0
        for problem in self.problems:
            count = len(problem.parameter_shapes)
            yield problem, parameters[start : start + count]
            start += count

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        """The result in float64 throughout."""
        y: Float64 = x.astype("float64")
        for problem, own in self.shares(parameters):
            # References accept float64 inputs: rounding between layers would hide in the budget.
            y = problem.reference(y.reshape(problem.input_shape), *own)  # type: ignore[arg-type]
        return y

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """Sum of the magnitudes of the terms behind each output, through all layers."""
        y: Float64 = x.astype("float64")
        for problem, own in self.shares(parameters):
            y = problem.magnitude(y.reshape(problem.input_shape), *own)  # type: ignore[arg-type]
        return y


def layers_of(problem: Problem) -> tuple[Problem, ...]:
    """The layers of a chain; any other problem is its own only layer."""
    return problem.problems if isinstance(problem, Chain) else (problem,)
