"""What the GPU strategies of `conv2d_weights_gradient` share: macros and the arrays' names."""

from __future__ import annotations

from typing import ClassVar

from rooftile.ops.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.convolution_gradients import gradient_macros
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.gpu import PLACES, Config, GpuStrategy


class GpuWeightsGradient(GpuStrategy):
    """A GPU strategy of `conv2d_weights_gradient`; takes every problem unless it says otherwise."""

    operation = "conv2d_weights_gradient"
    between: ClassVar[tuple[str, ...]] = (PLACES,)

    def why_not(self, problem: Conv2dWeightsGradient) -> str | None:
        """Takes everything."""
        return None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        """The layer's sizes, its activation where dy is behind it, and the tunables."""
        activation = {"ACTIVATION": ACTIVATION_CODES[problem.activation]}
        return {**gradient_macros(problem.layer), **activation, **config}


def inputs_of(problem: Conv2dWeightsGradient) -> tuple[str, ...]:
    """The names of x, dy, where behind a pool and y behind an activation."""
    return tuple(array.name for array in problem.input_arrays)
