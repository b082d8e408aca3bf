"""Rung 27, `pool_folded_split`: the pool folded for float32 as two parts of scaled float16.

Source: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022), for the scaled low parts.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops import Conv2d, Float32, narrowed, rounded
from rooftile.strategies.conv2d.gpu._base import blocks
from rooftile.strategies.conv2d.gpu._pool_folded import (
    divides,
    patch_slabs,
    products,
    strips_of,
)
from rooftile.strategies.conv2d.gpu._pool_folded_tf32 import (
    BAND_TUNABLES,
    TensorFloatFolded,
    folded_parts,
)
from rooftile.strategies.gpu import Config, Tunable

_OTHERS, _OTHERS_OF_FEW = 56, 32
"""Registers for addresses, loops, results and what scales them; of one group of maps."""
_LARGEST = 14
"""The exponent to which the largest number is brought."""
_LEAST_REDUCTION = 49
"""Of one group of maps, where the products of two low parts are added too: the parts' errors come
to 8 units at most and sums that cores cut off twice to 4, of a budget of 14."""
_LEAST = 2.0**-12
"""Of a scaled number, so that float16 holds its low part."""
_LOW_SCALE = np.float32(2.0**11)


class PoolFoldedSplit(TensorFloatFolded):
    """Each number in two parts of float16, three products for one, short sums in the cores."""

    name = "pool_folded_split"
    order = 27
    precision = "ieee"
    split = wgmma = True
    most_slabs = 64
    worth = 32 * 1024
    static_bytes = 128
    architectures = ("sm_90",)
    source = "pool_folded_split"
    headers = ("_narrow.h", "_formats.h", "_pool_folded.h")
    summary = "the pool folded for float32 as two parts of float16, scaled into its range"
    tunables = (
        *BAND_TUNABLES,
        Tunable("WARPS", (4, 8, 12, 16, 20), 4),
        Tunable("SUMMED", (2, 4, 8), 4),
    )

    def _least_reduction(self, problem: Conv2d) -> int:
        return _LEAST_REDUCTION if problem.maps <= 4 else super()._least_reduction(problem)

    def _warpgroups(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Strips for whole warpgroups, and as many of them as find room; few sums are short."""
        strips = strips_of(problem)
        whole = (s for s in (1, 2, 4) if strips * s % 4 == 0 and divides(config, s))
        segments = {"SEGMENTS": next(whole, 1), "SUMMED": 2 if problem.maps <= 4 else 4}
        wishes = (
            {**segments, "WARPS": warps, "BUFFERS": buffers}
            for warps in (16, 12, 8, 4)
            for buffers in (2, 1)
        )
        valid = (wish for wish in wishes if self.invalid(problem, {**config, **wish}) is None)
        return next(valid, segments)

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Registers a thread needs: three kinds of sums, a slab's patches and the next one's."""
        groups = blocks(problem.maps, 4)
        return 16 + (_OTHERS + 24 * groups if groups > 1 else _OTHERS_OF_FEW + 48)

    def _all_slabs(self, problem: Conv2d, config: Config) -> int:
        """Of a patch, up to whole sums."""
        slabs = problem.channels * patch_slabs(problem)
        return blocks(slabs, config["SUMMED"]) * config["SUMMED"]

    def _packed(self, problem: Conv2d, config: Config) -> int:
        return 1024 * blocks(problem.maps, 4) * self._all_slabs(problem, config)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Those of the folded pool, with products of float16."""
        groups = blocks(problem.maps, 4)
        macros = super().macros(problem, config)
        macros |= {"LARGEST": _LARGEST, "LEAST": f"{_LEAST.hex()}f"}
        macros |= {"LOW_SCALE": f"{float(_LOW_SCALE).hex()}f"}
        # One group's columns stand beside those of its low parts.
        return macros | products(groups if groups > 1 else 2, "fp16")

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[slabs][2 rows of a slab][2 parts][groups][2 rows of positions][8 columns][8 deep] in
        float16; behind them each map's exponent, and the weights as `tap` wants them."""
        groups = blocks(problem.maps, 4)
        parts, exponents = _scaled(weights)
        folded = [folded_parts(problem, part) for part in parts]
        # group, map, channel, slab, row, t, element of t, dy, dx
        both = np.stack(folded).transpose(3, 4, 5, 0, 1, 8, 2, 9, 6, 7)
        halves = narrowed(np.ascontiguousarray(both), "fp16").view(np.float32).ravel()
        halves = np.pad(halves, (0, self._packed(problem, config) // 4 - halves.size))
        spare = np.pad(exponents, (0, 4 * groups - problem.maps))
        return np.concatenate([halves, spare, weights.ravel()])


def _scaled(weights: Float32) -> tuple[tuple[Float32, Float32], Float32]:
    """High and low parts of the weights, each map's scaled by a power of two, NaN where they do
    not hold one; and the exponents that scale results back."""
    finite = np.where(np.isfinite(weights), np.abs(weights), 0).max(axis=(1, 2, 3))
    # Smaller ones would want a scale beyond float32's range.
    exponents = np.maximum(np.frexp(finite)[1] - 1, _LARGEST + 1 - 127) - _LARGEST
    scaled = np.ldexp(weights, -exponents[:, None, None, None]).astype(np.float32)
    high = rounded(scaled, "fp16")
    with np.errstate(invalid="ignore"):
        low = (scaled - high) * _LOW_SCALE
    holds = (scaled == 0) | ((np.abs(scaled) >= _LEAST) & np.isfinite(scaled))
    nothing = np.float32(np.nan)
    parts = np.where(holds, high, nothing), np.where(holds, low, nothing)
    return parts, exponents.astype(np.float32)


STRATEGY = PoolFoldedSplit()
