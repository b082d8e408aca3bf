"""What models of accesses say, beside a walk of warps over the same matrix."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.analysis.accesses import WARP
from rooftile.analysis.spmv_warps import walk
from rooftile.ops.sparse.generated import band_entries, grid_entries
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies import strategy

SIZE = 1024
MATRICES = (
    Spmv(SIZE, 2**16, 12 * SIZE, pattern="even", width=12),
    Spmv(SIZE, SIZE, band_entries(SIZE, 2), pattern="banded", width=5),
    Spmv(SIZE, SIZE, grid_entries(32), pattern="grid", width=5),
    Spmv(SIZE, SIZE, 16 * SIZE, pattern="blocks", width=16, block=4),
)
RUNGS = {"csr_threads": "csr", "jds": "jds", "jds_t": "jds_t", "ell": "ell"}


def counted(rung, problem):
    made = strategy("spmv", rung, "cuda")
    return made.accesses(problem, made.config(problem))


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda one: one.pattern)
@pytest.mark.parametrize("rung", RUNGS)
def test_loads_and_sectors_are_those_of_a_walk(matrix, rung):
    _, columns, offsets, _ = matrix.random(0)
    rows = [part.tolist() for part in np.split(columns, offsets[1:-1])]
    expected = walk(rows, RUNGS[rung])
    more = {"form": RUNGS[rung], "block": 0}
    problem = Spmv(
        *(matrix.rows, matrix.columns, matrix.entries),
        pattern=matrix.pattern,
        width=matrix.width,
        **more,
    )
    found = counted(rung, problem)[rung]
    rest = {"csr_threads": 2, "jds": 3, "jds_t": 1, "ell": 0}[rung] * SIZE
    sections = (matrix.width + 1) * SIZE // WARP if rung == "jds_t" else 0
    places = expected.working
    if rung == "ell":
        # Four places are loaded at once, the last one of a row again.
        places = SIZE * -(-matrix.width // 4) * 4
    assert np.isclose(found.loads, 3 * places + rest + sections * WARP, rtol=0.001)
    again = places / expected.working
    sectors = again * (2 * expected.matrix_sectors + expected.x_sectors)
    assert np.isclose(found.load_sectors, sectors + rest / 8 + sections, rtol=0.12)
    assert found.stores == SIZE


def test_a_matrix_of_other_rows_has_no_model():
    assert not counted("csr_threads", Spmv(SIZE, SIZE, 4 * SIZE))
    assert not counted("ell", Spmv(SIZE, SIZE, 4 * SIZE, "ell", "float64", width=9))


def test_diagonals_have_no_indices():
    problem = Spmv(SIZE, SIZE, band_entries(SIZE, 2), "dia", pattern="banded", width=5)
    found = counted("dia", problem)["dia"]
    # A value and an element of x each, and the numbers of diagonals for threads of two rows.
    assert found.loads == 2 * 5 * SIZE + 5 * SIZE / 2
    assert np.isclose(found.load_sectors, 2 * 5 * SIZE / 8 + 5 * SIZE / 64, rtol=0.12)
