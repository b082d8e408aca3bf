"""Rungs by tiles: kernels that add to tiles the parts of segments in other tiles (`join.h`)."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, beside, stored_apart, stored_beside
from rooftile.analysis.cooperation import chain, warp_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import GpuStrategy, Step

_BETWEEN = ("carries", "opens", "span_tails", "span_ended")


def left_by_tiles(problem: SegmentedReduce, tiles: int, threads: int) -> dict[str, int]:
    """Words that tiles, and spans of ``threads`` tiles, leave for each other."""
    words, spans = CARRIED_BYTES[problem.carried] // 4, blocks(tiles, threads)
    return {
        "tile_ends": 2 * (tiles + 1),
        "heads": words * tiles,
        "tails": words * tiles,
        "carries": words * tiles,
        "opens": tiles,
        "span_tails": words * spans,
        "span_ended": spans,
    }


def joined(rung: GpuStrategy, tiles: int, threads: int) -> tuple[Step, Step]:
    """Carries into tiles, and their first results."""
    spans, block = (blocks(tiles, threads), 1, 1), (threads, 1, 1)
    return (
        Step(
            Launch(rung.kernel("join_tiles"), spans, block),
            ("tile_ends", "tails", *_BETWEEN, tiles),
        ),
        Step(
            Launch(rung.kernel("first_results"), spans, block),
            ("tile_ends", "heads", *_BETWEEN, "results", tiles),
        ),
    )


def joining(rung: GpuStrategy, problem: SegmentedReduce, tiles: int, threads: int) -> Counted:
    """The accesses of both kernels."""
    ends = CARRIED_BYTES[problem.carried]
    between = beside(2 * tiles, ends) + stored_beside(2 * tiles, ends)
    between += warp_tree(threads, blocks(tiles, threads))
    first = beside(3 * tiles, ends) + stored_apart(tiles) + chain(2 * tiles, 2)
    return {rung.kernel("join_tiles"): between, rung.kernel("first_results"): first}
