"""`warpgroups_ieee`: the matrix product on warpgroups with float32's error.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.gemm.gpu.warpgroups.product import THREADS
from rooftile.strategies.gemm.gpu.warpgroups.split import SplitProduct
from rooftile.strategies.linear.gpu.warpgroups import Warpgroups


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


STRATEGY = WarpgroupsIeee()
