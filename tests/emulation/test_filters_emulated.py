"""Rungs of `conv1d`, `separable`, `box_blur`, emulated on the host: inside arrays, without races.

They run on every device; what an emulator adds is that it sees what lies beside an array, shared
memory that nobody wrote, and two threads at one place.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.ops import ERROR_MODELS
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies import strategy
from tests.emulation.emulator import emulate, missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

SIGNAL = Conv1d(1021, 7)
VOICES = Conv1d(299, 6, "replicate", 2, 2, 3, 3)
IMAGE = Separable(45, 139, (5, 7))
VALID = Separable(40, 140, (4, 5), "valid", 2, 3)


class Shaped:
    """A problem with the words for its shapes that the emulator asks for."""

    def __init__(self, problem):
        self._problem = problem
        self.parameter_shapes = {a.name: a.shape for a in problem.parameter_arrays}
        (self.output_shape,) = (a.shape for a in problem.output_arrays)

    def __getattr__(self, name):
        return getattr(self._problem, name)


def run(rung, problem, folder, config=None, **options):
    x, *parameters = problem.random(0)
    return emulate(rung, Shaped(problem), x, parameters, config, folder, **options)


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("coarsened", SIGNAL, {"BLOCK": 64, "QUADS": 2}),
        ("coarsened", VOICES, None),
        ("tile_three_loads", SIGNAL, {"BLOCK": 64}),
        ("tile_input", SIGNAL, {"BLOCK": 64}),
        ("tile_core", SIGNAL, {"BLOCK": 64}),
        ("coarsened", IMAGE, {"ROWS": 4, "TEAMS": 2}),
        ("coarsened", VALID, None),
        ("shared", IMAGE, {"TILE_Y": 8, "TEAMS": 4}),
    ],
)
def test_stays_inside_its_arrays_and_computes_on_what_was_written(name, problem, config, tmp_path):
    rung = strategy(problem.operation, name, "cuda")
    made = run(rung, problem, tmp_path, config, finite=True)
    verdict = Expected(problem, *problem.random(0)).judge(made, ERROR_MODELS["ieee"])
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("name", "problem"), [("tile_two_loads", VOICES), ("shared", VALID), ("coarsened", VALID)]
)
def test_threads_do_not_race(name, problem, tmp_path):
    run(strategy(problem.operation, name, "cuda"), problem, tmp_path, sanitizer="thread")


def test_a_race_between_two_images_is_found(tmp_path):
    rung = copy.copy(strategy("separable", "coarsened", "cuda"))
    barrier = "        __syncthreads();\n    }\n"
    assert barrier in rung.text
    rung.text = rung.text.replace(barrier, "    }\n")
    problem = Separable(20, 60, (3, 3), "zero", 2, 3)
    rung.grid = lambda problem, config: (1, 1, 1)
    with pytest.raises(AssertionError, match="data race"):
        run(rung, problem, tmp_path, {"TEAMS": 2, "ROWS": 16}, sanitizer="thread")


def test_a_window_beyond_the_signal_is_found(tmp_path):
    rung = copy.copy(strategy("conv1d", "coarsened", "cuda"))
    inside = "at + SPAN <= length"
    assert inside in rung.text
    rung.text = rung.text.replace(inside, "at + SPAN <= length + 8")
    with pytest.raises(AssertionError, match="AddressSanitizer"):
        run(rung, Conv1d(1024, 9), tmp_path, {"BLOCK": 64, "QUADS": 1})


SMALL = {"TILES": 4, "WARPS": 4, "ROWS": 64}


@pytest.mark.parametrize(
    ("problem", "config"),
    [
        (BoxBlur(75, 160, 5), SMALL),
        (BoxBlur(100, 48, 2, 3), {**SMALL, "STAGES": 2}),
        (BoxBlur(9, 16, 7), {**SMALL, "TILES": 8}),
        (BoxBlur(150, 560, 5), {**SMALL, "STAGES": 4}),
    ],
)
def test_sums_of_windows_as_products(problem, config, tmp_path):
    """Bands, strips and squares left over; windows that are clipped on both sides."""
    made = run(strategy("box_blur", "mma", "cuda"), problem, tmp_path, config)
    assert np.array_equal(made, problem.reference(*problem.random(0)))


def test_lanes_of_a_product_do_not_race(tmp_path):
    rung, config = strategy("box_blur", "mma", "cuda"), {**SMALL, "TILES": 8}
    run(rung, BoxBlur(150, 288, 7), tmp_path, config, sanitizer="thread")


def test_results_in_place_of_bytes_that_are_still_read_are_found(tmp_path):
    rung = copy.copy(strategy("box_blur", "mma", "cuda"))
    place = "8 * r * PITCH + 16 * i)"
    assert place in rung.text
    rung.text = rung.text.replace(place, "8 * r * PITCH + 16 * i + 16)")
    problem = BoxBlur(40, 64, 5)
    made = run(rung, problem, tmp_path, SMALL)
    assert not np.array_equal(made, problem.reference(*problem.random(0)))
