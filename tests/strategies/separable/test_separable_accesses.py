"""Models of `separable` rungs' accesses against what their blocks load and store."""

from __future__ import annotations

import math

import pytest

from rooftile.analysis.traffic import conv_reuse
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies import strategy

IMAGE = Separable(960, 1920, (5, 5), "valid")
ROWS, COLUMNS = IMAGE.output_size


def model(problem, name, **given_values):
    rung = strategy("separable", name, "cuda")
    return rung.accesses(problem, rung.config(problem, given_values))


def test_naive_read_an_element_and_a_weight_a_tap():
    found = model(IMAGE, "naive")
    wide = COLUMNS + 4
    assert found["naive_down"].loads == pytest.approx(2 * 5 * ROWS * wide)
    assert found["naive_down"].stores == ROWS * wide
    assert found["naive_across"].loads == pytest.approx(2 * 5 * ROWS * COLUMNS)
    assert found["naive_across"].stores == ROWS * COLUMNS


def test_a_tile_is_loaded_with_its_halo():
    problem = Separable(32 * 20, 32 * 30, (5, 9))
    found = model(problem, "shared", TILE_Y=32, TILE_X=32)["shared"]
    assert found.loads == 20 * 30 * 36 * 40
    uses = math.prod(problem.output_size) * 5 * 9
    assert uses / found.loads == pytest.approx(conv_reuse((32, 32), (5, 9)))
    down, across = math.ceil(32 * 40 / 32) * 5, 32 * 9
    assert found.shared_reads == 20 * 30 * (down + across)


@pytest.mark.parametrize("rows", [4, 8])
def test_a_thread_walks_down_its_rows_and_their_halo(rows):
    problem = Separable(4 * rows * 10, 120 * 8, (5, 5))
    found = model(problem, "coarsened", ROWS=rows, TEAMS=4, LANES=32)["coarsened"]
    walked = 10 * 8 * 4 * (rows + 4)
    assert found.loads == walked * 32 * 4
    assert found.load_requests == walked
    assert found.load_sectors == found.loads / 8
    assert found.stores == problem.height * problem.width
    # Three quads of sums cover the window of a quad of outputs.
    assert found.shared_reads == 10 * 8 * 4 * rows * 3 * 4


def test_rows_off_the_grid_of_vectors_are_read_word_by_word():
    found = model(Separable(320, 959, (5, 5)), "coarsened")["coarsened"]
    assert found.load_requests == pytest.approx(4 * model(
        Separable(320, 960, (5, 5)), "coarsened")["coarsened"].load_requests)  # fmt: skip
