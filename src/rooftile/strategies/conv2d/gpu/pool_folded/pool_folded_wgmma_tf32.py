"""Rung 24, `pool_folded_wgmma_tf32`: the same on Hopper's warpgroup products."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.conv2d.gpu.pool_folded._float import BAND_TUNABLES, WarpgroupsFolded
from rooftile.strategies.conv2d.gpu.pool_folded._layout import (
    groups_of,
    patch_slabs,
    slabs_of,
    whole_segments,
)
from rooftile.strategies.gpu import Config, Tunable

_OTHERS = 40
"""Registers for addresses, loops and results."""


class PoolFoldedWgmmaTf32(WarpgroupsFolded):
    """Weights in shared memory, patches and sums of all maps in a warp's registers.

    [whole runs of slabs][2 rows of a slab][2 elements][groups][2 rows of windows][8 columns]
    [4 deep]
    """

    name = "pool_folded_wgmma_tf32"
    order = 24
    precision = "tf32"
    most_slabs = 24
    axes = (2, 3, 4, 6, 0, 7, 1, 8, 5)
    summary = "its products by warpgroups that have bands of their own, inputs in TF32"
    tunables = (
        *BAND_TUNABLES,
        WarpgroupsFolded.warps,
        Tunable("RUN", (0, 1, 2, 4), 4),
        Tunable("AHEAD", (0, 1), 0),
    )

    def _shared_out(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Strips for whole warpgroups, runs that leave little over, and as many as find room."""
        whole = whole_segments(problem, config)
        runs = [run for run in (4, 2, 1) if run <= config["RUN"]]
        runs.sort(key=lambda run: self._all_slabs(problem, {"RUN": run}))
        # Where a ring of patches fits, nothing is read again; its strips are short, since they
        # are written out.
        runs.insert(0, 0)
        wishes = (
            {"SEGMENTS": whole[0 if run else -1], "RUN": run, "WARPS": warps, "BUFFERS": buffers}
            for run in runs
            for warps in (12, 8, 4)
            for buffers in (2, 1)
        )
        valid = (wish for wish in wishes if self.invalid(problem, {**config, **wish}) is None)
        return next(valid, {"SEGMENTS": whole[0]})

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Sums, and patches that are read again or stay in a ring."""
        patches = 2 * config["RUN"]
        if not config["RUN"]:
            patches = problem.channels * (patch_slabs(problem) + config["AHEAD"])
        return _OTHERS + 8 * (groups_of(problem) + patches)

    def _all_slabs(self, problem: Conv2d, config: Config) -> int:
        """The slabs in an even number of whole runs."""
        pair = 2 * config["RUN"] or 1
        return blocks(slabs_of(problem), pair) * pair


STRATEGY = PoolFoldedWgmmaTf32()
