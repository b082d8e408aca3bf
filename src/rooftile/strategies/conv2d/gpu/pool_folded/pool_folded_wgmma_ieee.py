"""Rung 25, `pool_folded_wgmma_ieee`: the pool folded on warpgroups with float32's error."""

from __future__ import annotations

import numpy as np

from rooftile.ops import Conv2d, Float32, narrowed, rounded
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.scaled import LOW_SCALE, scaled, split_macros
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.conv2d.gpu.pool_folded._float import BAND_TUNABLES, WarpgroupsFolded
from rooftile.strategies.conv2d.gpu.pool_folded._layout import (
    folded,
    groups_of,
    slabs_of,
    whole_segments,
)
from rooftile.strategies.gpu import Config, Tunable

_OTHERS = 72
"""Registers for addresses, loops, results, a slab's patches and what scales them."""
_LEAST_FLOPS = 1_000_000_000
"""From so many FLOPs on, split products pay for the weights that every block loads."""


class PoolFoldedWgmmaIeee(WarpgroupsFolded):
    """Each float32 is two numbers of float16, three products make one, sums in the cores are
    short."""

    name = "pool_folded_wgmma_ieee"
    order = 25
    precision = "ieee"
    most_slabs = 64
    worth = 32 * 1024
    static_bytes = 128
    source = "pool_folded_wgmma_ieee"
    summary = "the same for float32 as two numbers of float16, scaled into its range"
    tunables = (*BAND_TUNABLES, WarpgroupsFolded.warps, Tunable("SUMMED", (2, 4, 8), 4))

    @property
    def cores(self) -> Cores:
        """See `PoolFolded.cores`."""
        return CORES["fp16"]

    def why_not(self, problem: Conv2d) -> str | None:
        """What rungs in 16 bits refuse, and short sums: their budgets have no room for the split's
        error."""
        return super().why_not(problem) or too_short(problem.reduction)

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

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """The macros of the folded pool and of the split."""
        return super().macros(problem, config) | split_macros(problem.reduction)

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[slabs][2 rows of a slab][2 numbers][groups][2 rows of windows][8 columns][8 deep] in
        float16; behind them each map's exponent, the least result that is not in doubt for small
        weights, and the weights as `tap` wants them."""
        brought, behind = scaled(weights, problem.reduction)
        high = rounded(brought, "fp16")
        with np.errstate(invalid="ignore"):
            low = (brought - high) * LOW_SCALE
        both = np.stack([folded(problem, high), folded(problem, low)])
        both = both.transpose(3, 4, 5, 0, 1, 8, 2, 9, 6, 7)
        halves = narrowed(np.ascontiguousarray(both), "fp16").view(np.float32).ravel()
        halves = np.pad(halves, (0, self._folded_bytes(problem, config) // 4 - halves.size))
        exponents = np.pad(behind[:-1], (0, -problem.maps % 4))
        return np.concatenate([halves, exponents, behind[-1:], weights.ravel()])


STRATEGY = PoolFoldedWgmmaIeee()
