"""The base of the GPU strategies of `conv2d_weights_gradient`: macros, arrays, the last step."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.convolution_gradients import gradient_macros
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step

_FINISH = 32, 16, 1
"""Threads that share out what `finish` joins: columns, and rows of each."""


class GpuWeightsGradient(GpuStrategy):
    """A GPU strategy of `conv2d_weights_gradient`; takes every problem unless it says otherwise."""

    operation = "conv2d_weights_gradient"
    takes = features("padding pool:max")
    stores: ClassVar[Mapping[str, str]] = {"WHERE_NARROW": "where:uint8"}

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        activation = {"ACTIVATION": ACTIVATION_CODES[problem.activation]}
        return {**gradient_macros(problem.layer), **activation, **config}


class PartialSums(GpuWeightsGradient):
    """Blocks share out the images, and leave rows of sums, which another kernel adds up."""

    mends: ClassVar[bool] = False
    """True if that kernel computes anew what is NaN."""

    @abstractmethod
    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Rows of partial sums: one for each block that shares out the images, or part of it."""

    @abstractmethod
    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        """The launch of the blocks that share out the images."""

    def workspace(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int]:
        return {"partial": self.rows(problem, config) * columns_of(problem)}

    def steps(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[Step, ...]:
        given, rows = inputs_of(problem), self.rows(problem, config)
        results: tuple[str | int, ...] = ("partial", "dweights", "dbias", rows)
        if self.mends:
            results = (*given, *results[:3], problem.images, rows)
        launch = self.launch(problem, config)
        return (
            Step(launch, (*given, "partial", problem.images)),
            finish(self, problem, *results),
        )


def inputs_of(problem: Conv2dWeightsGradient) -> tuple[str, ...]:
    """The names of x, dy, where behind a pool and y behind an activation."""
    return tuple(array.name for array in problem.input_arrays)


def columns_of(problem: Conv2dWeightsGradient) -> int:
    """Weights and biases: the columns of partial sums."""
    return sum(array.size for array in problem.output_arrays)


def finish(rung: GpuStrategy, problem: Conv2dWeightsGradient, *arguments: str | int) -> Step:
    """The step that adds up the rows of partial sums."""
    grid = blocks(columns_of(problem), _FINISH[0]), 1, 1
    return Step(Launch(rung.kernel("finish"), grid, _FINISH, overlaps=True), arguments)


def given_pitch(problem: Conv2dWeightsGradient) -> int:
    """From a map's gradients to the next one's in shared memory: those that lanes read at once lie
    in banks of their own."""
    return blocks(math.prod(problem.layer.output_size), 32) * 32 + 8
