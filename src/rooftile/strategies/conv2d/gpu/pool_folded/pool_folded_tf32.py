"""`pool_folded_tf32`: the pool's positions as columns of a product in TF32."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.folded_pool import patch_slabs, slabs_of
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d.gpu.pool_folded._float import BAND_TUNABLES, WarpsFolded

_OTHERS = 40
"""Registers for addresses, loops and results."""


class PoolFoldedTf32(WarpsFolded):
    """Weights and patches in registers: few channels.

    [groups][slabs][2 rows of a slab][2 rows of windows][2 elements][32 lanes]
    """

    name = "pool_folded_tf32"
    precision = "tf32"
    most_slabs = 12
    axes = (0, 2, 3, 4, 7, 6, 1, 8, 5)
    summary = "pool positions as columns of a tensor-core product, inputs in TF32"
    tunables = (
        *BAND_TUNABLES,
        WarpsFolded.warps,
        WarpsFolded.block_bands,
        Tunable("AHEAD", (0, 1), 0),
        Tunable("CHAINS", (1, 2, 4), 1),
    )

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Sums, patches in a ring, weights."""
        ring = problem.channels * (patch_slabs(problem) + config["AHEAD"])
        return _OTHERS + 8 * (config["CHAINS"] + ring + slabs_of(problem))


STRATEGY = PoolFoldedTf32()
