"""Scans and compactions whose warps exchange values, emulated on the host.

They are right, stay inside their arrays and do not race.  Blocks run one after another here: that
tiles wait for those before them is seen on a GPU.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.ops import ERROR_MODELS
from rooftile.ops.operator import MAX, Operator
from rooftile.ops.patterns.compact import Compact
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.ops.patterns.unique import Unique
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies import strategy
from tests.emulation.emulator import emulate, missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

LAST = Operator("b == 0 ? a : b", 0, commutative=False)
SMALL = {"THREADS": 128, "ROWS": 2}
TILES = {"THREADS": 128, "PER": 16, "RESIDENT": 1}
TEAMS = {"TEAM": 64, "LINES": 2, "ROWS": 2}


def judged(rung, problem, folder, config, **options):
    given = problem.random(1)
    made = emulate(rung, problem, given, (), config, folder, **options)
    return Expected(problem, *given).judge(made, ERROR_MODELS["ieee"])


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("look_back", Scan((5001,)), SMALL),
        ("look_back", Scan((2, 1301), -1, "float16", MAX, True, True), SMALL),
        ("look_back", Scan((2000,), dtype="int64", operator=LAST, reverse=True), SMALL),
        ("rows", Scan((5, 1101), exclusive=True), TEAMS),
        ("look_back", SegmentedScan(3001, 90), SMALL),
        ("look_back", Compact(9001), {"THREADS": 128, "ROWS": 2}),
        ("look_back", Compact(13_001, "uint8", share=0.9), {"THREADS": 128, "ROWS": 4}),
        ("by_tiles", SegmentedReduce(9001, 200), TILES),
        ("by_tiles", SegmentedReduce(20_000, 3, "uint8"), TILES),
        ("by_tiles", SegmentedReduce(3001, 5000, "float64", MAX, "int32"), TILES),
        ("by_tiles", SegmentedReduce(1, 4, "float16"), TILES),
        ("look_back", Unique(9001), {"THREADS": 128, "ROWS": 2}),
        ("look_back", Unique(3001, "float64"), {"THREADS": 128, "ROWS": 2}),
        ("look_back", SegmentedScan(3001, 3500, "int32", LAST, True, "int32"), SMALL),
        ("csr_merge", Spmv(301, 157, 40_000), {"TEAMS": 2}),
    ],
)
def test_right_and_computes_on_what_was_written(name, problem, config, tmp_path):
    folder = tmp_path / "arrays"
    folder.mkdir()
    rung = strategy(problem.operation, name, "cuda")
    verdict = judged(rung, problem, folder, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("look_back", SegmentedScan(2001, 30), SMALL),
        ("by_tiles", SegmentedReduce(6001, 40), TILES),
        ("look_back", Compact(3001, "int64"), {"THREADS": 64, "ROWS": 2}),
        ("kogge_stone", Scan((300,)), {"BLOCK": 64}),
        ("kogge_stone_double", Scan((300,)), {"BLOCK": 64}),
        ("columns", Scan((70, 40), 0), {"LANES": 8, "TEAMS": 4, "RUN": 2}),
    ],
)
def test_threads_do_not_race(name, problem, config, tmp_path):
    rung = strategy(problem.operation, name, "cuda")
    assert judged(rung, problem, tmp_path, config, sanitizer="thread").passed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(int64)tile * TILE", "(int64)tile * (TILE - 64)"),
        ("e < stop; e += 32", "e < stop - 1; e += 32"),
        ("*tail = total;", "*tail = IDENTITY;"),
    ],
)
def test_wrong_segments_of_tiles_are_caught(before, after, tmp_path):
    rung = copy.copy(strategy("segmented_reduce", "by_tiles", "cuda"))
    assert before in rung.text
    rung.text = rung.text.replace(before, after)
    assert not judged(rung, SegmentedReduce(9000, 25), tmp_path, TILES).passed


@pytest.mark.parametrize(
    ("before", "after"),
    [("return joined(before, within);", "return before;"), ("joined(before, all)", "only(all)")],
)
def test_what_is_forgotten_of_a_group_is_caught(before, after, tmp_path):
    """79 tiles: the third group looks back at the second, and that at the first."""
    rung = copy.copy(strategy("scan", "look_back", "cuda"))
    text = rung.whole_text
    assert before in text
    rung.text = text.replace(before, after)
    config = {"THREADS": 128, "ROWS": 1}
    problem = Scan((40_000,))
    assert judged(strategy("scan", "look_back", "cuda"), problem, tmp_path, config).passed
    assert not judged(rung, problem, tmp_path, config).passed


def waves(blocks, operation="scan"):
    """The rung on so many blocks.  Several follow each other here, so a first launch publishes what
    a second one finds."""
    rung = strategy(operation, "waves", "cuda")
    rung = copy.copy(rung.on(replace(rung.machine, multiprocessors=blocks)))
    rung.text = rung.whole_text
    if blocks > 1:
        assert "if (known) break;" in rung.text
        rung.text = rung.text.replace("if (known) break;", "break;")
        steps = rung.steps
        rung.steps = lambda problem, config: (*steps(problem, config), steps(problem, config)[-1])
    return rung


WAVES = {"THREADS": 64, "ROWS": 1, "STAGES": 3, "BLOCKS": 1}
FEW = {
    "scan": WAVES,
    "segmented_scan": WAVES,
    "compact": {"THREADS": 64, "STAGES": 3, "BLOCKS": 1},
}


@pytest.mark.parametrize(
    ("blocks", "problem", "config"),
    [
        (1, Scan((3,), exclusive=True), {}),
        (3, Scan((20_017,)), {"THREADS": 128, "ROWS": 2, "BLOCKS": 2}),
        (2, Scan((9001,), dtype="int32", operator=MAX, exclusive=True), {"STAGES": 4}),
        (1, Scan((5003,), reverse=True), {}),
        (40, Scan((20_001,)), {}),
        (40, Scan((3,)), {}),
        (1, SegmentedScan(5003, 60), {}),
        (3, SegmentedScan(20_017, 7, exclusive=True), {"THREADS": 128, "ROWS": 2}),
        (2, SegmentedScan(9001, 12_000, "int32", MAX, index="int32"), {"STAGES": 4}),
        (40, SegmentedScan(20_001, 3), {}),
        (40, SegmentedScan(3, 2), {}),
        (1, Compact(10_007), {}),
        (3, Compact(40_001, "int32", share=0.9), {"THREADS": 128, "STAGES": 4}),
        (40, Compact(3), {}),
        (40, Compact(100_000, share=0.01), {}),
    ],
)
def test_waves_of_tiles(blocks, problem, config, tmp_path):
    rung = waves(blocks, problem.operation)
    assert judged(rung, problem, tmp_path, {**FEW[problem.operation], **config}).passed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bool counts = at >= 0 &&", "bool counts = at > 0 &&"),
        ("joined(cut ? nothing() : carry, of_lanes(all))", "joined(nothing(), of_lanes(all))"),
        ("threadIdx.x % 32 + 32 * k;", "threadIdx.x % 32 + 32 * k + 1;"),
        ("lane ? own : value_of(carry)", "value_of(carry)"),
    ],
)
def test_waves_that_miss_a_tile_are_caught(before, after, tmp_path):
    rung = waves(2)
    assert before in rung.text
    rung.text = rung.text.replace(before, after)
    assert not judged(rung, Scan((9001,)), tmp_path, WAVES).passed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bits & ((1u << left) - 1)", "bits"),
        ("left < TILE && left / 16 * 16 / PIECE == warp", "false"),
        ("__popc(here & under)", "__popc(here & under | 1)"),
        ("sum - own, row)", "sum, row)"),
    ],
)
def test_elements_that_waves_lose_are_caught(before, after, tmp_path):
    rung = waves(2, "compact")
    assert before in rung.text
    rung.text = rung.text.replace(before, after)
    try:
        passed = judged(rung, Compact(20_007), tmp_path, FEW["compact"]).passed
    except AssertionError:  # Something reached beyond its array.
        passed = False
    assert not passed


@pytest.mark.parametrize(
    ("blocks", "before", "after"),
    [
        (40, "if (cuts) all = IDENTITY, cut = true;", "if (cuts) cut = true;"),
        (2, "joined(cut ? nothing() : carry,", "joined(carry,"),
        (2, "tell(states + tile, all, begins != 0)", "tell(states + tile, all, false)"),
        (2, "*cut = true, all = IDENTITY", "*cut = true"),
        (2, "begins & up_to >> 1 ? earlier", "begins & up_to ? earlier"),
        (2, "heads[now.stage][warp * (PIECE / 32) + lane] = 0;", ";"),
    ],
)
def test_segments_that_waves_join_or_cut_are_caught(blocks, before, after, tmp_path):
    """Of 40 blocks, a lane looks up two tiles; of two, stages are filled again and again."""
    rung = waves(blocks, "segmented_scan")
    assert before in rung.text
    rung.text = rung.text.replace(before, after)
    config = {**WAVES, "ROWS": 2}
    assert not judged(rung, SegmentedScan(40_001, 90), tmp_path, config).passed


@pytest.mark.parametrize("problem", [Scan((5003,)), SegmentedScan(5003, 60), Compact(10_007)])
def test_waves_do_not_race(problem, tmp_path):
    rung, config = waves(1, problem.operation), FEW[problem.operation]
    assert judged(rung, problem, tmp_path, config, sanitizer="thread").passed


def test_kogge_and_stone_in_place_race(tmp_path):
    """As the lecture's first version: others are read while they are overwritten."""
    rung = copy.copy(strategy("scan", "kogge_stone", "cuda"))
    second = "            __syncthreads();\n            if (thread >= reach)"
    assert second in rung.text
    rung.text = rung.text.replace(second, "            if (thread >= reach)")
    with pytest.raises(AssertionError, match="data race"):
        judged(rung, Scan((300,)), tmp_path, {"BLOCK": 64}, sanitizer="thread")
