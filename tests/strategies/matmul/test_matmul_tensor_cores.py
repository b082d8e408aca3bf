"""`matmul` on tensor cores: the texts run on a GPU; each compiles without one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.ops import named
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.machine import preset
from tests.support.compiling import MEASURED, check_compiles, check_no_spills, other_architectures
from tests.support.storage import stored_by

RUNGS = [rung for rung in ladder("matmul", "cuda") if rung.devices == ("cuda",)]
LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]
SIZES = [
    (1, 1, 1), (7, 33, 5), (37, 129, 45), (130, 1024, 32), (257, 100, 130), (1100, 520, 1100),
    (64, 4096, 512), (300, 328, 136), (3, 30_016, 9),
]  # fmt: skip
PROBLEMS = [Matmul(*sizes, *layout) for sizes in SIZES for layout in LAYOUTS]
NARROWING = [rung for rung in ladder("matmul", "cuda") if rung.narrow]
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
shapes = st.builds(
    Matmul, st.integers(1, 5000), st.integers(1, 9000), st.integers(1, 5000),
    st.booleans(), st.booleans(),
)  # fmt: skip


@each_rung
def test_right_on_a_gpu(rung, cuda_device):
    reason = rung.why_not_on(cuda_device.description.architecture)
    if reason is not None:
        pytest.skip(reason)
    for problem in PROBLEMS:
        if rung.why_not(problem) is None:
            verify(problem, rung, device=cuda_device, hard=True, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("flags", [(1, 1), (1, 0), (0, 1)])
@pytest.mark.parametrize("rung", NARROWING, ids=lambda rung: rung.name)
def test_right_on_a_gpu_in_16_bits(rung, flags, cuda_device):
    reason = rung.why_not_on(cuda_device.description.architecture)
    if reason is not None:
        pytest.skip(reason)
    config = dict(zip(("X_NARROW", "OUT_NARROW"), flags, strict=True))
    for problem in (stored_by(rung, one, config)[0] for one in PROBLEMS):
        if rung.why_not(problem) is None:
            bound = rung.bind(problem, (), cuda_device)
            Exam(problem).examine(computing(bound), bound.errors).raise_if_wrong()


@given(problem=shapes)
def test_defaults_run(problem):
    """Of every rung, for each of the drawn problems."""
    for rung in RUNGS:
        if rung.why_not(problem) is not None:
            continue
        narrow, _ = stored_by(rung, problem, {"X_NARROW": 1, "OUT_NARROW": 1})
        for one in (problem, narrow) if rung.narrow else (problem,):
            config = rung.config(one)
            assert rung.invalid(one, config) is None, (rung, config)
            if rung.name.startswith("mma") and one is problem:
                check_parts(rung, problem, config)


def check_parts(rung, problem, config):
    """Parts cover all terms, and there is room for their sums."""
    multiply, *_ = rung.steps(problem, config)
    parts, share = config["PARTS"], multiply.arguments[-1]
    assert parts * share >= problem.inner, (rung, config)
    assert share % 32 == 0, (rung, config)
    if parts > 1:
        room = rung.workspace(problem, config)["sums"]
        assert room == parts * problem.rows * problem.columns, (rung, config)


SMALLER = [
    rung.on(preset(architecture))
    for architecture in ("sm_80", "sm_86", "sm_89")
    for rung in RUNGS
    if not rung.architectures
]


@given(problem=shapes)
def test_defaults_run_where_shared_memory_is_small(problem):
    for rung in SMALLER:
        if rung.why_not(problem) is None:
            assert rung.invalid(problem, rung.config(problem)) is None, (rung, rung.machine)


@each_rung
def test_compiles_without_spills(rung):
    few, many = (named("matmul", name) for name in ("matmul-64x4096", "matmul-4096"))
    # Few rows have tiles of their own, which the precisions share.
    check_compiles(rung, [many, few] if rung.precision in ("fp16", "ieee") else [many])


@pytest.mark.parametrize("rung", NARROWING, ids=lambda rung: rung.name)
def test_compiles_without_spills_in_16_bits(rung):
    if rung.precision == "bf16":
        # The text of float16, numbers as wide in instructions of the same shapes.
        check_no_spills(rung, Matmul(8, 64, 64), MEASURED, {"X_NARROW": 1, "OUT_NARROW": 1})
        return
    config = {"X_NARROW": 1, "OUT_NARROW": 1}
    for problem in (Matmul(64, 4096, 4096), Matmul(64, 4096, 4096, True, True), Matmul(8, 64, 64)):
        if rung.why_not(problem) is None:
            check_no_spills(rung, problem, MEASURED, config)
    for architecture in other_architectures(rung):
        check_no_spills(rung, Matmul(8, 64, 64), architecture, config)


def test_few_rows_make_wide_tiles_in_parts():
    config = strategy("matmul", "mma_fp16", "cuda").config(named("matmul", "matmul-64x4096"))
    assert (config["WARP_R"], config["WARPS_R"], config["PARTS"]) == (64, 1, 8)
    config = strategy("matmul", "mma_fp16", "cuda").config(named("matmul", "matmul-4096"))
    assert config["PARTS"] == 1


def test_what_they_do_not_take():
    def reason(name, *sizes):
        return strategy("matmul", name, "cuda").why_not(Matmul(*sizes))

    assert "sums of 64" in reason("mma_ieee", 9, 64, 9)
    assert "the cores sum up to 8192" in reason("mma_fp16", 1, 300_000, 1)
    assert reason("mma_ieee", 1, 300_000, 1) is None
    assert "multiples of 4" in reason("warpgroups_tf32", 9, 66, 9)


def test_blocks_share_what_they_bring_or_terms():
    """Large tiles where there are many; parts of the terms for few rows; one round of large
    clusters."""
    rung = strategy("matmul", "bulk_fp16", "cuda")
    names = ("WARPGROUPS", "TILE_C", "ROW_BLOCKS", "COLUMN_BLOCKS", "PARTS")

    def config(*sizes):
        return tuple(rung.defaults(Matmul(*sizes))[name] for name in names)

    assert config(4096, 4096, 4096) == (2, 256, 2, 1, 1)
    assert config(8192, 8192, 8192) == (2, 256, 2, 1, 1)
    assert config(64, 4096, 4096) == (1, 64, 1, 1, 2)
    assert config(1000, 1000, 1000) == (2, 72, 2, 2, 1)
    assert config(256, 256, 256) == (1, 16, 1, 1, 1)


def test_what_clusters_cannot_be():
    def reason(name, layout=(False, False), **given_values):
        rung, problem = strategy("matmul", name, "cuda"), Matmul(512, 512, 512, *layout)
        return rung.invalid(problem, rung.config(problem, given_values))

    assert "or terms" in reason("bulk_fp16", PARTS=2, ROW_BLOCKS=2)
    assert "by fours" in reason("bulk_fp16", SWAPPED=1, TILE_C=72, ROW_BLOCKS=4)
    assert "boxes of 64" in reason("bulk_fp16", SWAPPED=0, TILE_C=80)
    assert "to be columns" in reason("bulk_tf32", SWAPPED=0)


def test_what_is_turned_needs_whole_lines():
    why_not = strategy("matmul", "bulk_tf32", "cuda").why_not
    assert why_not(Matmul(65, 64, 68, True, False)) is None
    assert "a has lines of 66" in why_not(Matmul(65, 66, 68, True, False))
    assert "b has lines of 66" in why_not(Matmul(68, 66, 64, True, False))
    assert "a has lines of 65" in why_not(Matmul(65, 64, 68, True, True))


def test_b_is_streamed_for_few_rows():
    rung = strategy("matmul", "streamed_ieee", "cuda")

    def config(*sizes):
        return tuple(rung.config(Matmul(*sizes)).values())

    assert config(64, 4096, 4096) == (64, 2)
    assert config(9, 1024, 1024) == (16, 4)
    assert config(33, 4096, 8192) == (64, 1)
    assert "up to 64 rows" in rung.why_not(Matmul(65, 4096, 4096))
    assert "transpose_a" in rung.why_not(Matmul(64, 64, 64, True, False))
    assert "a has lines of 4094" in rung.why_not(Matmul(64, 4094, 4096))
    assert "in a tile of 16" in rung.invalid(Matmul(17, 64, 64), {"TILE_O": 16, "PARTS": 1})


def test_two_blocks_where_few_tiles_have_few_slices():
    """Of 64 x 64 results and eight slices; of twelve, a block alone holds more at a time."""
    rung, narrow = strategy("matmul", "bulk_fp16", "cuda"), {"X_NARROW": 1, "OUT_NARROW": 1}

    def blocks(size):
        problem, _ = stored_by(rung, Matmul(size, size, size), narrow)
        return rung.macros(problem, rung.config(problem))["BLOCKS"]

    assert [blocks(size) for size in (512, 768, 1000)] == [2, 1, 1]


def test_few_warps_where_more_would_have_no_terms():
    def warps(precision, *sizes):
        problem = Matmul(*sizes)
        return strategy("matmul", f"own_terms_{precision}", "cuda").config(problem)["WARPS"]

    assert warps("fp16", 128, 128, 128) == 4
    assert warps("ieee", 128, 128, 128) == 8
    assert warps("ieee", 384, 384, 384) == 4
