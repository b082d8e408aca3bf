"""Rung 25, `pool_folded_wgmma_ieee`: the pool folded on warpgroups with float32's error."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.conv2d.gpu.pool_folded._float import BAND_TUNABLES, WarpgroupsFolded
from rooftile.strategies.conv2d.gpu.pool_folded._layout import groups_of, slabs_of, whole_segments
from rooftile.strategies.conv2d.gpu.pool_folded._split import SplitFolded
from rooftile.strategies.gpu import Config

_OTHERS = 72
"""Registers for addresses, loops, results, a slab's patches and what scales them."""
_LEAST_FLOPS = 1_000_000_000
"""From so many FLOPs on, split products pay for the weights that every block loads."""


class PoolFoldedWgmmaIeee(SplitFolded, WarpgroupsFolded):
    """Each float32 is two numbers of float16, three products make one, sums in the cores are
    short.

    [whole runs of slabs][2 rows of a slab][groups][2 rows of windows][8 columns][8 deep]
    """

    name = "pool_folded_wgmma_ieee"
    order = 25
    few_maps = 7
    axes = (2, 3, 4, 0, 7, 1, 8, 5, 6)
    most_slabs = 64
    worth = 32 * 1024
    static_bytes = 128
    source = "pool_folded_wgmma_ieee"
    summary = "the same for float32 as two numbers of float16, scaled into its range"
    tunables = (*BAND_TUNABLES, WarpgroupsFolded.warps, SplitFolded.summed)

    def why_slow(self, problem: Conv2d) -> str | None:
        """Every block loads the weights, which little work does not pay for."""
        reason = super().why_slow(problem)
        if reason is None and problem.flops < _LEAST_FLOPS:
            return f"it pays from {_LEAST_FLOPS:,} FLOPs"
        return reason

    def _shared_out(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Strips for whole warpgroups, and as many of them as find room: they hide each other's
        loads better than a second buffer does."""
        segments = {"SEGMENTS": whole_segments(problem, config)[0]}
        wishes = ({**segments, "WARPS": warps} for warps in (16, 12, 8, 4))
        valid = (wish for wish in wishes if self.invalid(problem, {**config, **wish}) is None)
        return next(valid, segments)

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Three kinds of sums, and the others."""
        return _OTHERS + 24 * groups_of(problem)

    def _all_slabs(self, problem: Conv2d, config: Config) -> int:
        """The slabs in whole runs of `SUMMED`."""
        return blocks(slabs_of(problem), config["SUMMED"]) * config["SUMMED"]


STRATEGY = PoolFoldedWgmmaIeee()
