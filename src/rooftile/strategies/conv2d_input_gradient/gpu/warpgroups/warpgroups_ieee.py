"""Rung 10, `warpgroups_ieee`: whole windows by Hopper's warpgroups with float32's error.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022); Mishra and
others, "Accelerating Sparse Deep Neural Networks", 2021 (two of four terms).
"""

from __future__ import annotations

import math

from rooftile.ops.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.warpgroups import (
    begun,
    completed,
    elements,
    sparse_product,
    too_short,
)
from rooftile.strategies.conv2d_input_gradient.gpu.warpgroups._base import (
    CHANNELS,
    Warpgroups,
    lines_bytes,
    side_of,
)
from rooftile.strategies.gpu import Config

_NUMBERS = 2
"""Of a gradient and of a weight, in float16."""
_STATIC = 256
"""Bytes of shared memory that all problems have."""


class WarpgroupsIeee(Warpgroups):
    """A number is split in two of float16, and three sparse products stand for one."""

    name = "warpgroups_ieee"
    order = 10
    source = "warpgroups_ieee"
    summary = (
        "whole windows by warpgroups, float32 as two numbers of float16, every other term skipped"
    )

    @property
    def cores(self) -> Cores:
        """They multiply float16."""
        return CORES["fp16"]

    def why_not(self, problem: Conv2dInputGradient) -> str | None:
        """What the others refuse, and short sums: their budgets have no room for the split's
        error."""
        return super().why_not(problem) or too_short(problem.reduction)

    def products(self, problem: Conv2dInputGradient) -> dict[str, int | str]:
        """Sparse ones: for a row of pixels; and for a pair of columns in those rows that all
        positions of a window reach."""
        assert problem.pool is not None
        a, held = elements("(a)", 4), [*elements("(high)", 4), *elements("(low)", 4)]
        line = [f"sum[i][{k}]" for k in range(2 * side_of(problem))]
        lines = range(problem.pool.window[0] - 1, problem.mask[0])
        middle = [f"sum[{i}][4 * (d) + {k}]" for i in lines for k in range(4)]

        def multiply(sums: list[str]) -> str:
            return sparse_product(self.cores, sums, a, "b", "places", "adds")

        return {
            "MULTIPLY_LINE(i, a, b, places, adds)": multiply(line),
            "MULTIPLY_MIDDLE(d, a, b, places, adds)": multiply(middle) if middle else "(void)0",
            "BEGIN_PRODUCTS(high, low, places)": begun((), [*held, "places"]),
            "COMPLETED(later, high, low, places)": completed((), "later", [*held, "places"]),
            "COMPLETED_SUMS": super().products(problem)["COMPLETED_SUMS"],
        }

    def masks_bytes(self, problem: Conv2dInputGradient) -> int:
        """Of both numbers of the masks, for two positions at a time."""
        return _NUMBERS * super().masks_bytes(problem)

    def static_bytes(self, problem: Conv2dInputGradient) -> int:
        """Also of bits that say which weights, and gradients of both images, are small."""
        weights = CHANNELS * problem.maps * math.prod(problem.mask)
        gradients = 2 * problem.maps * math.prod(problem.layer.output_size)
        return _STATIC + blocks(weights, 32) * 4 + blocks(gradients, 32) * 4

    def invalid(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        """What the others refuse; more weights of a block than lie for a while where rows of pixels
        do."""
        weights = CHANNELS * problem.maps * math.prod(problem.mask) * 4
        if weights > (room := lines_bytes(problem)):
            return f"{weights} bytes of weights, {room} for them"
        return super().invalid(problem, config)


STRATEGY = WarpgroupsIeee()
