"""Rung 25, `pool_folded_wgmma_ieee`: the pool folded on warpgroups with float32's error.

Source: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022), for the scaled low parts.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops import Conv2d, Float32, narrowed, rounded
from rooftile.strategies.conv2d.gpu._base import blocks
from rooftile.strategies.conv2d.gpu._implicit_gemm import LEAST_SPLIT_REDUCTION
from rooftile.strategies.conv2d.gpu._pool_folded import (
    divides,
    patch_slabs,
    products,
    strips_of,
)
from rooftile.strategies.conv2d.gpu._pool_folded_float import (
    BAND_TUNABLES,
    WARPGROUPS,
    FloatFolded,
    folded_parts,
)
from rooftile.strategies.gpu import Config, Tunable

_OTHERS = 72
"""Registers for addresses, loops, results, a slab's patches and what scales them."""
_LARGEST = 14
"""The exponent to which the largest number is brought."""
_LOW_SCALE = np.float32(2.0**11)
_LEAST = 2.0**-12
"""Of a scaled number, so that float16 holds all of its low part."""
_LOST = 2.0**-36
"""At most, of a smaller one."""


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
    headers = ("_narrow.h", "_formats.h", "_pool_folded.h")
    summary = "the same for float32 as two parts of float16, scaled into its range"
    tunables = (*BAND_TUNABLES, WARPGROUPS, Tunable("SUMMED", (2, 4, 8), 4))

    def why_not(self, problem: Conv2d) -> str | None:
        """As in 16 bits, and short sums: their budgets have no room for the split's error."""
        reason = super().why_not(problem)
        if reason is None and problem.reduction <= LEAST_SPLIT_REDUCTION:
            return f"split products pay from sums of {LEAST_SPLIT_REDUCTION} products"
        return reason

    def _warpgroups(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Strips for whole warpgroups, and as many of them as find room: they hide each other's
        loads better than a second buffer does."""
        strips = strips_of(problem)
        whole = (s for s in (1, 2, 4) if strips * s % 4 == 0 and divides(config, s))
        segments = {"SEGMENTS": next(whole, 1)}
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

    def _packed(self, problem: Conv2d, config: Config) -> int:
        return 1024 * blocks(problem.maps, 4) * self._all_slabs(problem, config)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Those of the folded pool, with products of float16."""
        macros = super().macros(problem, config)
        macros |= {"SPLIT": 1, "LARGEST": _LARGEST, "LEAST": f"{_LEAST.hex()}f"}
        macros |= {"LOW_SCALE": f"{float(_LOW_SCALE).hex()}f"}
        macros |= {"LEAST_RESULT": f"{_least_result(problem).hex()}f"}
        return macros | products(blocks(problem.maps, 4), "fp16")

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[slabs][2 rows of a slab][2 parts][groups][2 rows of positions][8 columns][8 deep] in
        float16; behind them each map's exponent, the least result that is not in doubt for small
        weights, and the weights as `tap` wants them."""
        parts, exponents, small = _scaled(weights)
        folded = [folded_parts(problem, part) for part in parts]
        # group, map, channel, slab, row, t, element of t, dy, dx
        both = np.stack(folded).transpose(3, 4, 5, 0, 1, 8, 2, 9, 6, 7)
        halves = narrowed(np.ascontiguousarray(both), "fp16").view(np.float32).ravel()
        halves = np.pad(halves, (0, self._packed(problem, config) // 4 - halves.size))
        spare = np.pad(exponents, (0, -problem.maps % 4))
        least = np.float32(_least_result(problem) if small else 0)
        return np.concatenate([halves, spare, [least], weights.ravel()])


def _least_result(problem: Conv2d) -> float:
    """Of a scaled sum, so that what small numbers lose is a quarter of a unit of it."""
    return problem.reduction * _LOST * 2.0 ** (_LARGEST + 1) * 2.0**26


def _scaled(weights: Float32) -> tuple[tuple[Float32, Float32], Float32, bool]:
    """High and low parts of the weights, each map's scaled by a power of two; the exponents that
    scale results back; whether the parts hold a small weight in less than float32's bits."""
    finite = np.where(np.isfinite(weights), np.abs(weights), 0).max(axis=(1, 2, 3))
    # Smaller ones would want a scale beyond float32's range.
    exponents = np.maximum(np.frexp(finite)[1] - 1, _LARGEST + 1 - 127) - _LARGEST
    scaled = np.ldexp(weights, -exponents[:, None, None, None]).astype(np.float32)
    high = rounded(scaled, "fp16")
    with np.errstate(invalid="ignore"):
        low = (scaled - high) * _LOW_SCALE
    small = ((weights != 0) & (np.abs(scaled) < _LEAST)).any()
    return (high, low), exponents.astype(np.float32), bool(small)


STRATEGY = PoolFoldedWgmmaIeee()
