"""The kernel that finds which offsets fall into each tile (``heads.h``)."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, scattered_loads, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import GpuStrategy, Step

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
