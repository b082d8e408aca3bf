"""The first elements of segments in tiles, and the rung of a thread for each segment.

Source: PMPP, section 11.1.
"""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    Counted,
    apart,
    beside,
    scattered_loads,
    stored_apart,
    stored_beside,
)
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.common.operators import operator_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable


class GpuSegmentedScan(GpuStrategy):
    """A GPU strategy of `segmented_scan`."""

    operation = "segmented_scan"
    takes = features("dtype:* exclusive index:int32 operator.commutative operator:*")
    wide_indices = True

    def macros(self, problem: SegmentedScan, config: Config) -> dict[str, int | str]:
        macros = operator_macros(problem.operator, problem.dtype)
        compensated = problem.operator == SUM and macros["REAL"]
        return {
            **macros,
            "EXCLUSIVE": int(problem.exclusive),
            "REVERSE": 0,
            "COMPENSATED": int(compensated),
            "OFFSET": "int" if problem.index == "int32" else "int64",
            **config,
        }


_FINDING = 128
"""Threads of a block."""


def finding(rung: GpuStrategy, problem: SegmentedScan, tiles: int) -> Step:
    """The step that finds each tile's first offset."""
    launch = Launch(
        rung.kernel("find_firsts"), (blocks(tiles + 1, _FINDING), 1, 1), (_FINDING, 1, 1)
    )
    return Step(launch, ("offsets", "firsts", *wide(tiles, problem.segments)))


def found(problem: SegmentedScan, tiles: int) -> Accesses:
    """The accesses of that step: a search a tile."""
    searches = (problem.segments + 1).bit_length()
    made = scattered_loads((tiles + 1) * searches) + chain((tiles + 1) * searches, searches)
    return made + stored_beside(tiles + 1, 8)


class Sequential(GpuSegmentedScan):
    """Takes every problem."""

    name = "sequential"
    summary = "a thread a segment, its elements one after the other"
    takes = features(
        "dtype:* exclusive index:int32 operator.associative operator.commutative operator:*"
    )
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: SegmentedScan, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.segments, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        sizes = np.int64(problem.segments), np.int64(problem.count)
        return (Step(launch, ("x", "offsets", "y", *sizes)),)

    def accesses(self, problem: SegmentedScan, config: Config) -> Counted:
        """Segments of one length: neighbouring threads read and write as far apart as that."""
        x, offsets, _ = problem.arrays
        length = max(1, blocks(problem.count, max(1, problem.segments)))
        made = apart(x.size, length, x.numpy.itemsize) + stored_apart(x.size)
        made += beside(2 * problem.segments, offsets.numpy.itemsize)
        guard = Accesses(divergent_warps=int(problem.segments % WARP != 0))
        return {self.kernel(): made + chain(x.size, length) + guard}


STRATEGIES = (Sequential(),)
