"""Rung 25, `pool_folded_wgmma_ieee`: the pool folded on warpgroups with float32's error."""

from __future__ import annotations

import numpy as np

from rooftile.ops import Conv2d, Float32, narrowed, rounded
from rooftile.strategies._scaled import LOW_SCALE, scaled, split_macros
from rooftile.strategies._warpgroups import too_short
from rooftile.strategies.conv2d.gpu._base import blocks
from rooftile.strategies.conv2d.gpu._pool_folded import patch_slabs, products, whole_segments
from rooftile.strategies.conv2d.gpu._pool_folded_float import (
    BAND_TUNABLES,
    WARPGROUPS,
    FloatFolded,
    folded_parts,
)
from rooftile.strategies.gpu import Config, Tunable

_OTHERS = 72
"""Registers for addresses, loops, results, a slab's patches and what scales them."""


class PoolFoldedWgmmaIeee(FloatFolded):
    """Each number in two parts of float16, three products for one, short sums in the cores."""

    name = "pool_folded_wgmma_ieee"
    order = 25
    precision = "ieee"
    wgmma = True
    most_slabs = 64
    worth = 32 * 1024
    static_bytes = 128
    architectures = ("sm_90",)
    source = "pool_folded_wgmma_ieee"
    headers = ("_narrow.h", "_scaled.h", "_formats.h", "_pool_folded.h")
    summary = "the same for float32 as two parts of float16, scaled into its range"
    tunables = (*BAND_TUNABLES, WARPGROUPS, Tunable("SUMMED", (2, 4, 8), 4))

    def why_not(self, problem: Conv2d) -> str | None:
        """As in 16 bits, and short sums: their budgets have no room for the split's error."""
        return super().why_not(problem) or too_short(problem.reduction)

    def _warpgroups(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Strips for whole warpgroups, and as many of them as find room: they hide each other's
        loads better than a second buffer does."""
        segments = {"SEGMENTS": whole_segments(problem, config)[0]}
        wishes = ({**segments, "WARPS": warps} for warps in (16, 12, 8, 4))
        valid = (wish for wish in wishes if self.invalid(problem, {**config, **wish}) is None)
        return next(valid, segments)

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Registers a thread needs, three kinds of sums among them."""
        return _OTHERS + 24 * blocks(problem.maps, 4)

    def _all_slabs(self, problem: Conv2d, config: Config) -> int:
        """Of a patch, up to whole sums."""
        slabs = problem.channels * patch_slabs(problem)
        return blocks(slabs, config["SUMMED"]) * config["SUMMED"]

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Those of the folded pool, with products of float16."""
        macros = super().macros(problem, config) | split_macros(problem.reduction)
        return macros | products(blocks(problem.maps, 4), "fp16")

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[slabs][2 rows of a slab][2 parts][groups][2 rows of positions][8 columns][8 deep] in
        float16; behind them each map's exponent, the least result that is not in doubt for small
        weights, and the weights as `tap` wants them."""
        brought, behind = scaled(weights, problem.reduction)
        high = rounded(brought, "fp16")
        with np.errstate(invalid="ignore"):
            parts = high, (brought - high) * LOW_SCALE
        folded = [folded_parts(problem, part) for part in parts]
        # group, map, channel, slab, row, t, element of t, dy, dx
        both = np.stack(folded).transpose(3, 4, 5, 0, 1, 8, 2, 9, 6, 7)
        halves = narrowed(np.ascontiguousarray(both), "fp16").view(np.float32).ravel()
        halves = np.pad(halves, (0, self._packed(problem, config) // 4 - halves.size))
        exponents = np.pad(behind[:-1], (0, -problem.maps % 4))
        return np.concatenate([halves, exponents, behind[-1:], weights.ravel()])


STRATEGY = PoolFoldedWgmmaIeee()
