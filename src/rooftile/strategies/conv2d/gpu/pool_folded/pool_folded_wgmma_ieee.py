"""`pool_folded_wgmma_ieee`: the pool folded on warpgroups with float32's error."""

from __future__ import annotations

import numpy as np

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.folded_pool import groups_of
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv2d.gpu.pool_folded._split import SplitFolded
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded_wgmma import WarpgroupsFolded

_OTHERS = 72
"""Registers for addresses, loops, results, a slab's patches and what scales them."""


class PoolFoldedWgmmaIeee(SplitFolded, WarpgroupsFolded):
    """Each float32 is two numbers of float16, three products make one, sums in the cores are
    short.

    [whole runs of slabs][2 rows of a slab][groups][2 rows of windows][8 columns][8 deep]
    """

    name = "pool_folded_wgmma_ieee"
    most_slabs = 64
    most_groups = 8
    source = "pool_folded_wgmma_ieee"
    summary = "the same for float32 as two numbers of float16, scaled into its range"
    tunables = (*WarpgroupsFolded.tunables, SplitFolded.summed)

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Long runs where they leave no more slabs over."""
        config = super().defaults(problem)
        longer = config | {"SUMMED": 2 * config["SUMMED"]}
        same = self._folded_count(problem, longer) == self._folded_count(problem, config)
        return longer if same else config

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        return np.concatenate([super().pack(problem, weights, config), weights.ravel()])

    def _held(self, problem: Conv2d) -> int:
        """Three kinds of sums, and the others."""
        return _OTHERS + 24 * groups_of(problem)


STRATEGY = PoolFoldedWgmmaIeee()
