"""`warpgroups_ieee`: whole windows by Hopper's warpgroups with float32's error.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.conv2d_input_gradient.gpu.warpgroups.warpgroups import Warpgroups


class WarpgroupsIeee(Warpgroups):
    """A number is split in two of float16, and three sparse products stand for one."""

    name = "warpgroups_ieee"
    multiplied = "fp16"
    numbers = 2
    scaled = True
    summary = (
        "whole windows by warpgroups, float32 as two numbers of float16, every other term skipped"
    )

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        """What the others refuse, and short sums: their budgets have no room for the split's
        error."""
        return super().limits(problem) or too_short(problem.reduction)


STRATEGY = WarpgroupsIeee()
