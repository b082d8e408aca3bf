"""`pool_folded_ieee`: the pool folded with float32's error, for few maps."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.folded_pool import (
    patch_slabs,
    rows_of_few,
    slabs_of,
)
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv2d.gpu.pool_folded._float import BAND_TUNABLES, BANDS, WarpsFolded
from rooftile.strategies.conv2d.gpu.pool_folded._split import SplitFolded

_OTHERS = 72
"""Registers for sums, addresses, loops, results and what scales them."""


class PoolFoldedIeee(SplitFolded, WarpsFolded):
    """Weights and patches in registers, both numbers of each: few channels.

    [groups][slabs][2 rows of windows][2 rows of a slab][32 lanes][2 elements]
    """

    name = "pool_folded_ieee"
    most_slabs = 8
    least_reduction = 48
    axes = (0, 2, 3, 7, 4, 1, 8, 5, 6)
    worth = 32 * 1024
    static_bytes = 128
    source = "pool_folded_ieee"
    summary = "pool positions as columns of tensor-core products of split float32, for few maps"
    tunables = (*BAND_TUNABLES, WarpsFolded.warps, WarpsFolded.block_bands, SplitFolded.summed)

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        config = super().defaults(problem)
        rows = rows_of_few(problem, config, BANDS, self.machine.multiprocessors)
        return config | {"BAND_ROWS": rows}

    def _shared_out(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """A band and a buffer a block: other blocks overlap its copies, and its split."""
        chosen = super()._shared_out(problem, config)
        return chosen | {"BUFFERS": 1, "BLOCK_BANDS": 1}

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Patches in a ring, weights, and the others."""
        ring = problem.channels * patch_slabs(problem)
        return _OTHERS + 8 * (ring + slabs_of(problem))


STRATEGY = PoolFoldedIeee()
