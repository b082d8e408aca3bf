"""Kernels of sparse matrices, emulated on the host: none reads or writes outside its arrays.

Padding is multiplied by nothing, so that what is read beyond x changes no result, and no device's
guards show it.
"""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.ops.sparse.spmm import Spmm
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies import ladder, strategy
from tests.emulation.emulator import emulate, missing
from tests.support.every_rung import changed

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

# No size is a multiple of a block, a tile or a warp.
SIZES = {
    "ell": {"width": 20},
    "hybrid": {"width": 6, "tail": 100},
    "jds_t": {"width": 40},
    "dia": {"width": 7},
    "bsr": {"width": 60, "block": 4},
}
RUNGS = (*ladder("spmv", "opencl"), *ladder("spmm", "opencl"))


def problem_of(rung):
    if rung.operation == "spmm":
        return Spmm(101, 57, 900, 37)
    return Spmv(301, 157, 1400, rung.form, **SIZES.get(rung.form, {}))


def result(rung, problem, folder, config=None):
    given = problem.random(0)
    return emulate(rung, problem, given, (), config, folder), given


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: f"{rung.operation}-{rung.name}")
def test_nothing_beyond_arrays_is_touched(rung, tmp_path):
    problem = problem_of(rung)
    found, given = result(rung, problem, tmp_path)
    assert np.allclose(found, problem.reference(*given), atol=1e-4)


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("one_row", [False, True])
def test_rows_of_many_tiles(tiled, one_row, tmp_path):
    problem = Spmv(900, 157, 60_000, tiled=tiled)
    given = problem.hard(0)["one row has all entries"] if one_row else problem.random(0)
    found = emulate(strategy("spmv", "csr_merge", "cuda"), problem, given, (), None, tmp_path)
    assert np.allclose(found, problem.reference(*given), atol=1e-4 if not one_row else 1e-2)


def test_a_block_that_ends_beyond_the_columns_is_caught(tmp_path):
    wrong = changed("spmv", "bsr", "WHOLE || column + j + i < columns", "true")
    with pytest.raises(AssertionError, match="heap-buffer-overflow"):
        result(wrong, problem_of(strategy("spmv", "bsr", "cuda")), tmp_path)
