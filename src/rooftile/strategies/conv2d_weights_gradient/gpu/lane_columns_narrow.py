"""`lane_columns` of gradients and values that are stored in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.storage import is_narrow
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv2d_weights_gradient.gpu.lane_columns import LaneColumns


class NarrowLaneColumns(LaneColumns):
    """Reads dy and y in 16 bits, x in float32; multiplies and adds in float32."""

    source = "lane_columns"
    stores: ClassVar[Mapping[str, str]] = {"DY_NARROW": "dy:narrow", "Y_NARROW": "y:narrow"}

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        if problem.array("y") is not None and not is_narrow(problem, "y"):
            return "it reads y in the numbers of dy"
        return super().limits(problem)

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "CORES": CORES[self.narrow].word}


class LaneColumnsBf16(NarrowLaneColumns):
    """See `NarrowLaneColumns`."""

    name = "lane_columns_bf16"
    narrow = "bf16"
    requires = features("storage:dy:bfloat16")


class LaneColumnsFp16(NarrowLaneColumns):
    """See `NarrowLaneColumns`."""

    name = "lane_columns_fp16"
    narrow = "fp16"
    requires = features("storage:dy:float16")


STRATEGIES = (LaneColumnsBf16(), LaneColumnsFp16())
