"""What the GPU strategies of `conv2d_input_gradient` share: macros and the arrays' names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.convolution_gradients import gradient_macros
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.contract.gpu import Config, GpuStrategy


class GpuInputGradient(GpuStrategy):
    """A GPU strategy of `conv2d_input_gradient`; takes every problem unless it says otherwise."""

    operation = "conv2d_input_gradient"
    takes = features("padding pool:max")
    stores: ClassVar[Mapping[str, str]] = {"WHERE_NARROW": "where:uint8"}

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        """The layer's sizes, the activation before and the tunables."""
        before = {"BEFORE": ACTIVATION_CODES[problem.before]}
        return {**gradient_macros(problem.layer), **before, **config}


def arguments_of(problem: Conv2dInputGradient) -> tuple[str, ...]:
    """The names of dy, where behind a pool, x behind an activation, the weights and dx."""
    return tuple(array.name for array in problem.arrays)
