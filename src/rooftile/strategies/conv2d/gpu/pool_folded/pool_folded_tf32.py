"""Rung 23, `pool_folded_tf32`: the pool's positions as columns of a product in TF32."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.conv2d.gpu.pool_folded._base import ENOUGH_BLOCKS, MOST_WARPS
from rooftile.strategies.conv2d.gpu.pool_folded._float import BAND_TUNABLES, FloatFolded
from rooftile.strategies.conv2d.gpu.pool_folded._layout import (
    bands_of,
    groups_of,
    patch_slabs,
    slabs_of,
    strips_of,
)
from rooftile.strategies.gpu import Config, Tunable

_OTHERS = 40
"""Registers for addresses, loops and results."""


class PoolFoldedTf32(FloatFolded):
    """Weights and patches in registers: few channels.

    [groups][slabs][2 rows of a slab][2 rows of windows][2 elements][32 lanes]
    """

    name = "pool_folded_tf32"
    order = 23
    precision = "tf32"
    most_slabs = 12
    most_groups = MOST_WARPS
    axes = (0, 2, 3, 4, 7, 6, 1, 8, 5)
    summary = "pool positions as columns of a tensor-core product, inputs in TF32"
    tunables = (
        *BAND_TUNABLES,
        Tunable("WARPS", (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16), 4),
        Tunable("BLOCK_BANDS", (1, 2, 4, 8, 16), 1),
        Tunable("AHEAD", (0, 1), 0),
        Tunable("CHAINS", (1, 2, 4), 1),
    )

    def _shared_out(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """A warp for each strip or group of maps, several bands a block where there are many."""
        strips, groups = strips_of(problem), groups_of(problem)
        share = max(w for w in range(1, max(1, 5 // groups) + 1) if strips % w == 0)
        chosen = {"WARPS": groups * share, "BUFFERS": 2}
        if self.invalid(problem, {**config, **chosen}):
            chosen["BUFFERS"] = 1
        for bands in (2, 4, 8):
            if self._grid(problem, {**config, "BLOCK_BANDS": bands}) >= ENOUGH_BLOCKS:
                chosen["BLOCK_BANDS"] = bands
        return chosen

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """What no such rung can run, and warps that do not share out the maps evenly."""
        groups, warps = groups_of(problem), config["WARPS"]
        if groups <= self.most_groups and warps % groups:
            return f"{warps} warps for {groups} groups of four maps"
        return super().invalid(problem, config)

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Sums, patches in a ring, weights."""
        ring = problem.channels * (patch_slabs(problem) + config["AHEAD"])
        return _OTHERS + 8 * (config["CHAINS"] + ring + slabs_of(problem))

    def _teams(self, config: Config) -> int:
        return 1

    def _grid(self, problem: Conv2d, config: Config) -> int:
        return blocks(bands_of(problem, config), config["BLOCK_BANDS"])


STRATEGY = PoolFoldedTf32()
