"""The sort whose warps vote, emulated on the host: right, inside its arrays, no races.

Blocks run one after another here: that tiles wait for those before them is seen on a GPU.
"""

from __future__ import annotations

import copy

import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.ops import ERROR_MODELS
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies import strategy
from tests.emulation.emulator import emulate, missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

SMALL = {"THREADS": 256, "ITEMS": 4}


def judged(problem, kind, folder, rung=None, **options):
    rung = rung or strategy("sort", "onesweep", "cuda")
    given = {"random": problem.random(1), **problem.hard(1)}[kind]
    made = emulate(rung, problem, given, (), SMALL, folder, **options)
    return Expected(problem, *given).judge(made, ERROR_MODELS["ieee"])


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (Sort((2, 2301), gives="pairs"), "NaN"),
        (Sort((1100, 2), 0, "uint8", gives="places"), "few values"),
    ],
)
def test_right(problem, kind, tmp_path):
    assert judged(problem, kind, tmp_path).passed


@pytest.mark.parametrize("gives", ["values", "pairs", "places"])
@pytest.mark.parametrize("mask", [0, 0xFF00FF])
def test_digits_that_all_keys_share(gives, mask, tmp_path):
    problem = Sort((1500,), dtype="int32", gives=gives)
    x, *others = problem.random(1)
    given = (x & mask, *others)
    made = emulate(strategy("sort", "onesweep", "cuda"), problem, given, (), SMALL, tmp_path)
    assert Expected(problem, *given).judge(made, ERROR_MODELS["ieee"]).passed


def test_threads_do_not_race(tmp_path):
    assert judged(Sort((1030,), dtype="uint8"), "random", tmp_path, sanitizer="thread").passed


def test_a_tile_that_forgets_those_before_it_is_caught(tmp_path):
    rung = copy.copy(strategy("sort", "onesweep", "cuda"))
    before = "number ? looked_back(state) : 0"
    assert before in rung.text
    rung.text = rung.text.replace(before, "0")
    assert not judged(Sort((2301,), dtype="uint8"), "random", tmp_path, rung).passed
