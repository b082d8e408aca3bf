"""`lane_columns` for gradients and values that lie in 16 bits between a step's launches."""

from __future__ import annotations

from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.contract.gpu import GRADIENTS, Config
from rooftile.strategies.conv2d_weights_gradient.gpu._base import VALUES
from rooftile.strategies.conv2d_weights_gradient.gpu.lane_columns import LaneColumns


class NarrowLaneColumns(LaneColumns):
    """Reads dy and y in 16 bits, x in float32; multiplies and adds in float32.

    It is no rung of the ladder, since how these lie no problem says.
    """

    source = "lane_columns"
    between = (GRADIENTS, VALUES)

    @property
    def forms(self) -> tuple[str, ...]:
        """See `GpuStrategy.forms`: of x there is one form."""
        return self.between

    def config(self, problem: Conv2dWeightsGradient, given: Config | None = None) -> dict[str, int]:
        """There are no others than these."""
        return super().config(problem, {**(given or {}), GRADIENTS: 1, VALUES: 1})

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        """And the type of what lies in 16 bits."""
        return {**super().macros(problem, config), "CORES": CORES[self.narrow].word}


class LaneColumnsBf16(NarrowLaneColumns):
    """See `NarrowLaneColumns`."""

    name = "lane_columns_bf16"
    precision = narrow = "bf16"


class LaneColumnsFp16(NarrowLaneColumns):
    """See `NarrowLaneColumns`."""

    name = "lane_columns_fp16"
    precision = narrow = "fp16"


RUNGS = (LaneColumnsBf16(), LaneColumnsFp16())
"""What reads what layers hand on in 16 bits."""
