"""Models of `conv1d` rungs' accesses against counting what every thread does."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.analysis.traffic import conv_core, conv_reuse, conv_reuse_input_block
from rooftile.ops.boundary import BOUNDARIES
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies import ladder, strategy

RUNGS = ladder("conv1d", "cuda")


def model(problem, name, **given_values):
    rung = strategy("conv1d", name, "cuda")
    config = rung.config(problem, given_values)
    return rung.accesses(problem, config)[rung.kernel()]


def reads(problem, name, block):
    """Elements of one signal that all threads read for one map."""
    before, mask = problem.before, problem.mask

    def real(at):
        return problem.boundary == "replicate" or 0 <= at < problem.length

    if name in ("one_block", "naive", "constant"):
        return sum(real(i + q - before) for i in range(problem.outputs) for q in range(mask))
    step = block - mask + 1 if name == "tile_input" else block
    starts = range(0, problem.outputs, step)
    if name == "tile_core":
        core = sum(real(start + t) for start in starts for t in range(block))
        offsets = [(t, t + q - before) for t in range(block) for q in range(mask)]
        far = [at for _, at in offsets if not 0 <= at < block]
        return core + sum(real(start + at) for start in starts for at in far)
    return sum(real(start - before + e) for start in starts for e in range(step + mask - 1))


@settings(max_examples=40)
@given(
    name=st.sampled_from([r.name for r in RUNGS if r.name != "coarsened"]),
    length=st.integers(1, 700), mask=st.integers(1, 63), boundary=st.sampled_from(BOUNDARIES),
    channels=st.integers(1, 3), maps=st.integers(1, 3),
)  # fmt: skip
def test_loads_and_stores_are_those_of_the_threads(name, length, mask, boundary, channels, maps):
    length += mask if boundary == "valid" else 0
    problem = Conv1d(length, mask, boundary, 2, channels, maps, 3)
    block = 128
    found = model(problem, name, BLOCK=block)
    loads = problem.rows * channels * reads(problem, name, block)
    if name in ("one_block", "naive"):
        loads += problem.rows * channels * mask * problem.outputs
    assert found.loads == pytest.approx(loads)
    assert found.stores == problem.rows * problem.outputs


@pytest.mark.parametrize("mask", [3, 5, 9, 31])
def test_tiles_reuse_what_the_textbook_says(mask):
    problem, block = Conv1d(2**20, mask), 256
    uses = problem.outputs * mask
    for name in ("tile_three_loads", "tile_two_loads"):
        loads = model(problem, name, BLOCK=block).loads
        assert uses / loads == pytest.approx(conv_reuse((block,), (mask,)), rel=1e-3)
    loads = model(problem, "tile_input", BLOCK=block).loads
    assert uses / loads == pytest.approx(conv_reuse_input_block((block,), (mask,)), rel=1e-3)
    loads = model(problem, "tile_core", BLOCK=block).loads
    core = conv_core((block,), (mask,))
    assert loads / problem.outputs == pytest.approx(core.loads_per_output, rel=1e-3)


@pytest.mark.parametrize(("mask", "window"), [(1, 4), (3, 12), (5, 12), (31, 36), (63, 68)])
def test_a_quad_reads_its_window_in_vectors(mask, window):
    problem = Conv1d(4096, mask)
    found = model(problem, "coarsened")
    assert found.loads == 1024 * window
    assert found.load_sectors == found.loads / 8
    assert found.load_requests == found.loads / 4 / 32
    assert found.stores == 4096
    odd = Conv1d(4095, mask, "zero", 2, 1, 1, 3)
    assert model(odd, "coarsened").load_requests == pytest.approx(2 * window * 1024 / 32)


def test_shared_memory_is_read_once_a_tap_by_every_warp():
    problem = Conv1d(1000, 7, "zero", 1, 2, 3, 3)
    for name in ("tile_three_loads", "tile_two_loads", "tile_core"):
        assert model(problem, name, BLOCK=128).shared_reads == 8 * 6 * 7 * 4
    assert model(problem, "tile_input", BLOCK=128).shared_reads == math.ceil(1000 / 122) * 6 * 7 * 4
