"""The matrix product on Hopper's warpgroups with float32's error: what `linear` and `matmul` share.
Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from Tensor
Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, cast

from rooftile.strategies.common.warpgroups import elements, too_short, wgmma, wgmma_wait
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.warpgroups.product import TUNABLES, WarpgroupsProduct
from rooftile.strategies.gemm.gpu.warpgroups.tiles import SplitTile, Tile

_INSTRUCTIONS = 2
"""Instructions in the depth of a slice."""


class SplitProduct(WarpgroupsProduct):
    """A number is split in two of float16, three products stand for one, and the cores sum up
    little at a time.  Results in doubt are computed from x and the weights."""

    multiplied = "fp16"

    tile = SplitTile
    most_summed = math.inf
    tunables: ClassVar[tuple[Tunable, ...]] = (*TUNABLES, Tunable("SUM_O", (16, 32, 64), 64))
    prepared = ("numbers",)
    given = ("x", "weights", "row_scales")

    def limits(self, problem: Any) -> str | None:
        return super().limits(problem) or too_short(self.layer(problem).reduction)

    def products(self, tile: Tile) -> dict[str, int | str]:
        return split_products(cast(SplitTile, tile))

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        """Both numbers of each weight, a scale for each output, every part's sums and what each
        part's rows may miss."""
        arrays, outputs = super().workspace(problem, config), self.layer(problem).outputs
        if "partial" in arrays:
            arrays["partial"] += arrays["partial"] // outputs * 2
        return {"numbers": arrays.pop("rounded"), "row_scales": 2 * outputs, **arrays}


def split_products(tile: SplitTile) -> dict[str, int | str]:
    """The instructions, and how many outputs are summed at a time."""
    sums = elements("(sum)", tile.summed // 2)
    numbers = [*elements("(a).high", _INSTRUCTIONS, 4), *elements("(a).low", _INSTRUCTIONS, 4)]
    return {
        "SUM_O": tile.summed,
        "WGMMA(sum, a, b, more)": wgmma(tile.cores, sums, elements("(a)", 4), "b", "more"),
        "WGMMA_WAIT_FOR(sum, a, later)": wgmma_wait(sums, "later", numbers),
    }
