"""`matmul` of few rows at float32's error, emulated on the host: `turned_ieee`, `streamed_ieee`."""

from dataclasses import replace

import numpy as np
import pytest

from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import strategy
from tests.emulation.emulator import judged, missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]


def check_hard_inputs(rung, problem, tmp_path, config):
    for kind, arrays in problem.hard(1).items():
        verdict = judged(rung, problem, arrays, tmp_path, config)
        assert verdict.passed, (kind, verdict)


@pytest.mark.parametrize(
    ("layout", "parts"), [(LAYOUTS[0], 3), (LAYOUTS[1], 1), (LAYOUTS[2], 1), (LAYOUTS[3], 3)]
)
def test_few_rows_turned(layout, parts, tmp_path):
    """Columns, terms and rows left over; with and without a second kernel."""
    rung = strategy("matmul", "turned_ieee", "cuda")
    config = {"WARPGROUPS": 1, "TILE_O": 16, "PARTS": parts}
    problem = Matmul(18, 108, 76, *layout)
    verdict = judged(rung, problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("layout", LAYOUTS[1:3])
def test_few_rows_turned_mend_hard_inputs(layout, tmp_path):
    rung, problem = strategy("matmul", "turned_ieee", "cuda"), Matmul(20, 108, 68, *layout)
    config = {"WARPGROUPS": 2, "TILE_O": 32, "PARTS": 2 if layout[0] else 1}
    check_hard_inputs(rung, problem, tmp_path, config)


ZEROS = Matmul(20, 256, 68), {"WARPGROUPS": 1, "TILE_O": 32, "PARTS": 4}
MENDED_WRONG = ("out[place_of_result(images[d], outputs[d])] = activate(whole);", "out[0] = 1e30f;")


def relu_and_small_weights(problem):
    """Rows of a that are zero in one part or another, and numbers of b far below their largest."""
    a, b = problem.random(3)
    for row in range(problem.rows):
        first = row % 4 * 64
        a[row, first : first + 64] = 0
    b[::16] *= np.float32(2.0**-20)
    return a, b


@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_zeros_leave_no_doubt(layout, tmp_path):
    """Nothing is computed anew where parts of rows are zero: that would be wrong here."""
    rung, (problem, config) = strategy("matmul", "turned_ieee", "cuda"), ZEROS
    given = a, b = relu_and_small_weights(problem)
    if layout[1]:
        problem, given = replace(problem, transpose_b=True), (a, np.ascontiguousarray(b.T))
    verdict = judged(rung, problem, given, tmp_path, config, MENDED_WRONG)
    assert verdict.passed, verdict


def test_sums_of_small_numbers_alone_are_computed_anew(tmp_path):
    rung, (problem, config) = strategy("matmul", "turned_ieee", "cuda"), ZEROS
    a, b = relu_and_small_weights(problem)
    # What the split of b misses is all that is left: of its other numbers none meets a row.
    a[:, np.arange(problem.inner) % 16 != 0] = 0
    assert judged(rung, problem, (a, b), tmp_path, config).passed
    assert not judged(rung, problem, (a, b), tmp_path, config, MENDED_WRONG).passed


@pytest.mark.parametrize("layout", LAYOUTS[:2])
@pytest.mark.parametrize(("sizes", "tile"), [((14, 108, 76), 16), ((60, 328, 200), 64)])
def test_few_rows_in_turns(sizes, tile, layout, tmp_path):
    """Columns, terms and rows left over; warpgroups without a slice in the last turn."""
    rung = strategy("matmul", "streamed_ieee", "cuda")
    problem, config = Matmul(*sizes, *layout), {"TILE_O": tile, "PARTS": 1}
    verdict = judged(rung, problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_few_rows_in_turns_mend_hard_inputs(layout, tmp_path):
    rung, problem = strategy("matmul", "streamed_ieee", "cuda"), Matmul(20, 108, 68, *layout)
    check_hard_inputs(rung, problem, tmp_path, {"TILE_O": 32, "PARTS": 1})


STREAMED = Matmul(20, 300, 72), {"TILE_O": 32, "PARTS": 1}


def test_warpgroups_that_take_turns_do_not_race(tmp_path):
    rung, (problem, config) = strategy("matmul", "streamed_ieee", "cuda"), STREAMED
    judged(rung, problem, problem.random(3), tmp_path, config, sanitizer="thread")


@pytest.mark.parametrize(
    "wrong",
    [
        # Sums are held where products may still read; a slice's scale is another row's.
        ("meet_groups();\n        if (thread == 0) doubts", "if (thread == 0) doubts"),
        ("over(-14, slice.scale[1])}", "over(-14, slice.scale[0])}"),
    ],
)
def test_wrong_turns_are_caught(wrong, tmp_path):
    rung, (problem, config) = strategy("matmul", "streamed_ieee", "cuda"), STREAMED
    given = problem.random(3)
    try:
        verdict = judged(rung, problem, given, tmp_path, config, wrong, sanitizer="thread")
    except AssertionError:
        return
    assert not verdict.passed
