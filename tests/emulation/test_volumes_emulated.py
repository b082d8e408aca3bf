"""Rungs of `conv3d` and `stencil` on the host: inside their arrays, without races, on nothing that
nobody wrote.

OpenCL's CPU lets the threads of a block run one after the other from barrier to barrier, and so
sees no race.
"""

from __future__ import annotations

import copy

import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies import strategy
from tests.emulation.emulator import emulate, missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

MARCH = {"THREADS_X": 8, "THREADS_Y": 4, "STAGES": 3}
SEVERAL = {"THREADS_X": 16, "THREADS_Y": 4, "THREAD_ROWS": 4}
CASES = {
    "march": (Conv3d(5, 11, 36, (3, 3, 3)), MARCH),
    "march, channels": (Conv3d(4, 9, 21, (2, 3, 4), "valid", 1, 2, 2, "batch"), MARCH),
    "coarsened": (Conv3d(5, 9, 33, (3, 3, 3)), {"BLOCK_X": 16, "BLOCK_Y": 4}),
    "prism": (Conv3d(5, 9, 17, (3, 3, 3)), {"LOADED_Z": 4, "LOADED_Y": 4}),
    "march, star": (Stencil((6, 10, 36), 13), MARCH),
    "several_steps": (Stencil((5, 18, 40), 7, 3), {**SEVERAL, "LEVELS": 3}),
    "several_steps, a rest": (Stencil((5, 12, 27), 27, 3), {**SEVERAL, "LEVELS": 2}),
    "several_steps, two axes": (Stencil((18, 40), 9, 4, "valid"), {**SEVERAL, "LEVELS": 2}),
    "one_barrier": (Stencil((5, 18, 40), 7, 3), {**SEVERAL, "LEVELS": 3}),
    "one_barrier, a rest": (Stencil((6, 14, 27), 13, 3), {**SEVERAL, "LEVELS": 2}),
    "neighbours": (Stencil((3, 36, 32), 7, 4), {**SEVERAL, "LEVELS": 4, "THREADS_Y": 12}),
    "neighbours, a rest": (
        Stencil((3, 10, 30), 13, 3),
        {**SEVERAL, "LEVELS": 2, "THREADS_Y": 8, "THREAD_ROWS": 2},
    ),
}


def judged(name, folder, rung=None, **options):
    problem, config = CASES[name]
    rung = rung or strategy(problem.operation, name.partition(",")[0], "cuda")
    x, *parameters = problem.random(1)
    out = emulate(rung, problem, x, parameters, config, folder, **options)
    return Expected(problem, x, *parameters).judge(out, "ieee")


@pytest.mark.parametrize("name", CASES)
def test_it_computes_on_nothing_that_nobody_wrote(name, tmp_path):
    verdict = judged(name, tmp_path, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", CASES)
def test_it_has_no_races(name, tmp_path):
    verdict = judged(name, tmp_path, sanitizer="thread")
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("march", "COPIES_LEFT(STAGES - 2);\n        __syncthreads();", "COPIES_LEFT(STAGES - 2);"),
        ("several_steps", "turn ^= 1, z", "z"),
        ("one_barrier", "turn ^= 1;", ""),
        ("neighbours", "other >= 0 &&", "other > 0 &&"),
        ("neighbours", "half = round % 2", "half = 0"),
    ],
)
def test_a_missing_barrier_or_turn_is_caught(name, before, after, tmp_path):
    problem, _ = CASES[name]
    rung = copy.copy(strategy(problem.operation, name, "cuda"))
    assert before in rung.whole_text
    rung.text = rung.whole_text.replace(before, after)
    with pytest.raises(AssertionError, match="data race"):
        judged(name, tmp_path, rung, sanitizer="thread")
