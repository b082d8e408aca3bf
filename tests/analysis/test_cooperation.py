"""Trees and scans of blocks in closed form against threads whose reads are written out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis.access import bank_conflicts
from rooftile.analysis.accesses import WARP
from rooftile.analysis.cooperation import (
    block_scan,
    increments,
    looking_back,
    run_scan,
    shared_tree,
    vector_scan,
    warp_tree,
)
from rooftile.analysis.work import scan

PLACES = {
    "interleaved": lambda t, s, pairs: 2 * t if t % s == 0 else None,
    "compacted": lambda t, s, pairs: 2 * t * s if t < pairs // s else None,
    "sequential": lambda t, s, pairs: t if t < s else None,
}
powers = st.integers(0, 10).map(lambda k: 1 << k)


def passes(places):
    """Requests of all warps, and the passes that banks make of them."""
    requests = turns = 0
    for first in range(0, len(places), WARP):
        lanes = [place for place in places[first : first + WARP] if place is not None]
        requests += bool(lanes)
        turns += bank_conflicts(lanes) if lanes else 0
    return requests, turns


@given(powers, st.sampled_from(sorted(PLACES)))
def test_a_tree_reads_what_its_threads_read(pairs, mapping):
    requests = turns = operations = 0
    strides = [1 << k for k in range(pairs.bit_length())]
    for stride in strides:
        places = [PLACES[mapping](t, stride, pairs) for t in range(pairs)]
        operations += sum(place is not None for place in places)
        for other in (0, stride):
            asked, taken = passes([None if p is None else p + other for p in places])
            requests, turns = requests + asked, turns + taken
    found = shared_tree(pairs, mapping, 3)
    assert found.operations == 3 * operations == 3 * (2 * pairs - 1)
    assert found.steps == len(strides)
    assert (found.shared_reads, found.conflicts) == (3 * requests, 3 * (turns - requests))


def test_indices_that_are_compacted_trade_divergence_for_banks():
    trees = {mapping: shared_tree(256, mapping, 1) for mapping in PLACES}
    assert [tree.divergent_warps for tree in trees.values()] == [8, 1, 1]
    assert trees["sequential"].conflicts == 0
    assert trees["compacted"].conflicts > trees["interleaved"].conflicts > 0
    assert trees["compacted"].shared_reads < trees["interleaved"].shared_reads


@given(st.integers(1, 8).map(lambda k: 1 << k), st.sampled_from(("kogge_stone", "brent_kung")))
def test_a_scan_reads_what_its_threads_read(n, algorithm):
    requests = turns = 0
    up = [1 << k for k in range((n - 1).bit_length())]
    if algorithm == "kogge_stone":
        asked = [[t if t >= s else None for t in range(n)] for s in up]
    else:
        ends = [[(t + 1) * 2 * s - 1 for t in range(max(1, n // 2))] for s in up]
        asked = [[p if p < n else None for p in one] for one in (*ends, *ends[-2::-1])]
    for places in asked:
        once, taken = passes(places)
        requests, turns = requests + 2 * once, turns + 2 * taken
    found, counted = block_scan(algorithm, n, 2), scan(algorithm, n)
    assert (found.operations, found.steps) == (2 * counted.adds, counted.passes)
    assert (found.shared_reads, found.conflicts) == (2 * requests, 2 * (turns - requests))


def test_runs_cost_less_than_passes_over_all_elements():
    """docs/learn/scan.md: 5625 operations by 256 threads over 2048 elements, in 23 steps."""
    found = run_scan(256, 8, 1)
    assert (found.operations, found.steps) == (5625, 23)
    assert found.operations < block_scan("kogge_stone", 2048, 1).operations / 3
    assert found.conflicts == 0


def test_registers_need_no_shared_memory_but_between_warps():
    tree = warp_tree(256, 10)
    assert (tree.operations, tree.steps, tree.shared_reads) == (10 * 5 * 9 * 32, 10, 10)
    alone, several = vector_scan(4096, 4, 4, 1), vector_scan(4096, 4, 4, 8)
    assert alone.shared_reads == 0
    assert several.shared_reads == 2 * 8
    assert alone.operations == several.operations == 1024 * (3 + 5 + 2 + 4)


@pytest.mark.parametrize("tiles", [1, 32, 1000])
def test_tiles_that_look_back_share_one_counter(tiles):
    found = looking_back(tiles, 2, 16)
    assert found.atomics == found.turns == found.turns_if_equal == tiles
    assert found.loads == 2 * 64 * tiles
    assert found.load_requests == found.loads / WARP
    assert found.steps == 10 * -(-tiles // 16)


@given(st.integers(1, 10**6), st.integers(1, 4096), st.integers(1, 64))
def test_copies_and_bins_shorten_queues(count, bins, copies):
    found = increments(count, bins, copies)
    assert found.atomics == found.operations == count
    assert found.turns_if_equal == count / copies
    assert found.turns <= max(1, found.turns_if_equal)
    assert increments(count, bins, copies, shared=True).atomics == 0
