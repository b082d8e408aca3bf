"""`warpgroups_ieee`: the matrix product on warpgroups with float32's error.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

import math
from typing import ClassVar, cast

from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.warpgroups import elements, too_short, wgmma, wgmma_wait
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu.warpgroups._tiles import SplitTile, Tile
from rooftile.strategies.linear.gpu.warpgroups.warpgroups import THREADS, TUNABLES, Warpgroups

_INSTRUCTIONS = 2
"""How many instructions a slice is deep."""


class WarpgroupsIeee(Warpgroups):
    """A number is split in two of float16, three products stand for one, and the cores sum up
    little at a time."""

    name = "warpgroups_ieee"
    source = "warpgroups_ieee"
    tile = SplitTile
    most_summed = math.inf
    tunables: ClassVar[tuple[Tunable, ...]] = (*TUNABLES, Tunable("SUM_O", (16, 32, 64), 64))
    summary = "Hopper's warpgroups, float32 as two numbers of scaled float16"

    def limits(self, problem: Linear) -> str | None:
        """What the others refuse, and short sums: their budgets have no room for the split's
        error."""
        return super().limits(problem) or too_short(problem.reduction)

    def _products(self, tile: Tile) -> dict[str, int | str]:
        split = cast(SplitTile, tile)
        sums = elements("(sum)", split.summed // 2)
        numbers = [*elements("(a).high", _INSTRUCTIONS, 4), *elements("(a).low", _INSTRUCTIONS, 4)]
        return {
            "SUM_O": split.summed,
            "WGMMA(sum, a, b, more)": wgmma(tile.cores, sums, elements("(a)", 4), "b", "more"),
            "WGMMA_WAIT_FOR(sum, a, later)": wgmma_wait(sums, "later", numbers),
        }

    @property
    def cores(self) -> Cores:
        """They multiply float16."""
        return CORES["fp16"]

    def workspace(self, problem: Linear, config: Config) -> dict[str, int]:
        """Both numbers of each weight, a scale for each output, every part's sums and what each
        part's rows may miss."""
        arrays = super().workspace(problem, config)
        if "partial" in arrays:
            arrays["partial"] += arrays["partial"] // problem.outputs * 2
        return {"numbers": arrays.pop("rounded"), "row_scales": 2 * problem.outputs, **arrays}

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """Finds the scale of each output's weights, then splits and lays them as the cores read."""
        (lay,) = super().preparation(problem, config)
        grid = (blocks(32 * problem.outputs, THREADS), 1, 1)
        return (
            Step(
                Launch(self.kernel("measure_weights"), grid, (THREADS, 1, 1)),
                ("weights", "row_scales"),
            ),
            Step(
                Launch(self.kernel("split_weights"), lay.launch.grid, lay.launch.block),
                ("weights", "row_scales", "numbers"),
            ),
        )

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """As for the others; results in doubt are computed from `x` and `weights`."""
        return self._steps(problem, config, ("numbers",), ("x", "weights", "row_scales"))


STRATEGY = WarpgroupsIeee()
