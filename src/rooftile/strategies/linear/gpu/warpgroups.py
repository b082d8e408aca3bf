"""The matrix product on Hopper's warpgroups and bulk copy engine, weights laid once.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and bulk copies; for the split
products Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, family
from rooftile.strategies.gemm.gpu.warpgroups.product import THREADS, WarpgroupsProduct
from rooftile.strategies.gemm.gpu.warpgroups.split import SplitProduct
from rooftile.strategies.linear.gpu._base import GpuLinear


class Warpgroups(WarpgroupsProduct, GpuLinear):
    """See `WarpgroupsProduct`; the weights are rounded and laid once."""

    name = "warpgroups_{precision}"
    summary = "Hopper's warpgroups, converted in registers to {numbers}"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "x:narrow", "OUT_NARROW": "out:narrow"}

    def layer(self, problem: Linear) -> Linear:
        """The problem itself."""
        return problem

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        launch = self.laying(problem, config, "round_weights")
        return (Step(launch, ("weights", "rounded")),)

    def laying(self, problem: Linear, config: Config, what: str) -> Launch:
        """The launch of the kernel that does it, a thread an element."""
        shares = self.shares(problem, config)
        count = shares.across * shares.tile.outputs * shares.slices * shares.tile.slice
        return Launch(self.kernel(what), (blocks(count, THREADS), 1, 1), (THREADS, 1, 1))


class WarpgroupsIeee(SplitProduct, Warpgroups):
    """See `SplitProduct`; the weights are split and laid once."""

    name = "warpgroups_ieee"
    summary = "Hopper's warpgroups, float32 as two numbers of scaled float16"

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """Finds the scale of each output's weights, then splits and lays them as the cores read."""
        grid = (blocks(32 * problem.outputs, THREADS), 1, 1)
        measure = Launch(self.kernel("measure_weights"), grid, (THREADS, 1, 1))
        split = self.laying(problem, config, "split_weights")
        return (
            Step(measure, ("weights", "row_scales")),
            Step(split, ("weights", "row_scales", "numbers")),
        )


STRATEGIES = (*family(Warpgroups(), "fp16", "bf16", "tf32"), WarpgroupsIeee())
