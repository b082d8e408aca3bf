"""Divergence and coalescing of sparse formats, against what the course says of them."""

from __future__ import annotations

import random

import pytest

from rooftile.analysis.spmv_warps import walk
from rooftile.errors import InputError

GENERATOR = random.Random(0)
# 32 rows of up to ten entries, as the course has them.
ROWS = [sorted(GENERATOR.sample(range(64), GENERATOR.randint(1, 10))) for _ in range(32)]
ENTRIES = sum(map(len, ROWS))


def test_padded_rows_do_not_diverge_and_are_coalesced():
    found = walk(ROWS, "ell")
    assert (found.steps, found.working, found.lanes) == (10, 320, 1)
    assert found.used == 1
    assert found.matrix_sectors == 40


def test_rows_that_lie_apart_are_not_coalesced():
    for form in ("csr", "jds"):
        found = walk(ROWS, form)
        assert (found.steps, found.working) == (10, ENTRIES)
        assert found.lanes == ENTRIES / 320
        assert found.used < 0.4


def test_jagged_diagonals_are_coalesced():
    found = walk(ROWS, "jds_t")
    assert (found.steps, found.working) == (10, ENTRIES)
    # Sections begin anywhere: a run of 32 elements touches at most five sectors.
    assert found.matrix_sectors <= 50
    assert found.used > 0.6


def test_in_the_order_of_lengths_hardly_any_warp_diverges():
    rows = [sorted(GENERATOR.sample(range(640), GENERATOR.randint(1, 40))) for _ in range(640)]
    assert walk(rows, "jds").lanes > 0.9 > 0.7 > walk(rows, "csr").lanes
    assert walk(rows, "jds_t").steps == walk(rows, "jds").steps < walk(rows, "csr").steps


def test_neighbours_of_a_band_read_neighbours_of_x():
    band = [[i + k for k in range(5)] for i in range(64)]
    assert walk(band, "ell").x_sectors <= 5 * 2 * 5
    assert walk(band, "csr").x_sectors == walk(band, "ell").x_sectors


def test_nothing_and_other_formats():
    assert walk([], "csr").lanes == walk([[], []], "jds_t").used == 1
    with pytest.raises(InputError, match="form"):
        walk(ROWS, "coo")
