"""Problems that can be layers: one batch of float32 numbers in, one out, parameters between."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from rooftile.ops.problem import Array, Dtype, Float32, Problem


class Layer(Problem):
    """A problem with a batched input ``x``, a batched output ``out``, and float32 parameters."""

    batch: int
    """Number of independent inputs."""
    addends: ClassVar[tuple[str, ...]] = ("bias",)
    """Parameters that are added and not multiplied."""
    adds_errors: ClassVar[bool] = True
    """True if errors of the input become errors of the output by the layer's own factors."""

    @property
    @abstractmethod
    def input_shape(self) -> tuple[int, ...]:
        """Shape of the input, batch first."""

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter by name, in the order of the arguments."""
        return {}

    @property
    @abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the output, batch first."""

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The input, the parameters, the output."""
        dtype: Dtype = "float64" if self.double else "float32"
        parameters = (
            Array(name, shape, dtype, role="parameter", operand=name not in self.addends)
            for name, shape in self.parameter_shapes.items()
        )
        return (
            Array("x", self.input_shape, dtype, batched=True),
            *parameters,
            Array("out", self.output_shape, dtype, role="output", batched=True),
        )

    def with_batch(self, batch: int) -> Self:
        return dataclasses.replace(self, batch=batch)  # type: ignore[type-var]

    def random(self, seed: int) -> tuple[Float32, ...]:
        """Normal values; multiplied parameters are divided by the root of the reduction."""
        generator = np.random.default_rng(seed)
        x = generator.standard_normal(self.input_shape, self.input_arrays[0].numpy)
        return x, *self.random_parameters(generator)

    def random_parameters(self, generator: np.random.Generator) -> tuple[Float32, ...]:
        """The parameters of `random`."""
        scale = math.sqrt(self.reduction)
        return tuple(
            generator.standard_normal(p.shape, p.numpy) / p.numpy.type(scale if p.operand else 1)
            for p in self.parameter_arrays
        )

    @property
    def problems(self) -> tuple[Layer, ...]:
        """The layers of a chain; a single layer gives itself."""
        return (self,)

    def shares(self, parameters: Sequence[Float32]) -> Iterator[tuple[Layer, tuple[Float32, ...]]]:
        """Each of `problems` with its own parameters."""
        yield self, tuple(parameters)
