"""Every rung of `permute_columns`: each element from its column, as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.strategies import ladder
from tests.support.every_rung import EveryRung, Wrong

PROBLEMS = (
    PermuteColumns(1, 1, 1),
    PermuteColumns(70, 300, 300),
    PermuteColumns(33, 7, 100, "uint8"),
    PermuteColumns(129, 65, 40, "float16"),
    PermuteColumns(5, 33, 33, "float64"),
)
CPU, GPU = ladder("permute_columns"), ladder("permute_columns", "opencl")


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = PROBLEMS[1:]
    configured = (PermuteColumns(61, 103, 203),)
    compiled = PROBLEMS[1:]
    wrong = Wrong(
        PermuteColumns(70, 300, 300),
        ("naive", "x[i * columns + column_of(index[j], columns)]", "x[i * columns + j % columns]"),
        ("shared_index", "band * ROWS + r;", "band * ROWS;"),
        ("rows", "j < width; j += BLOCK", "j < width - 1; j += BLOCK"),
    )


@settings(max_examples=15)
@given(
    rows=st.integers(1, 50), columns=st.integers(1, 90), width=st.integers(1, 90),
    dtype=st.sampled_from(["float32", "uint8", "bfloat16"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_shape_on_the_cpu(rows, columns, width, dtype, seed):
    problem = PermuteColumns(rows, columns, width, dtype)
    for rung in CPU:
        verify(problem, rung, seed, neighbours=False).raise_if_wrong()


def test_nothing_outside_of_a_row_is_read(opencl_device):
    problem = PermuteColumns(3, 5, 4)
    x = problem.random(0)[0]
    index = np.array([-7, 2, 5, 2**31 - 1], np.int32)
    for rung in (*CPU, *GPU):
        y = np.zeros((3, 4), np.float32)
        rung.bind(problem, (), cpu.open_device() if rung in CPU else opencl_device)(x, index, y)
        assert (y == x[:, [0, 2, 4, 4]]).all()


def test_problems():
    problem = parse("permute_columns", "rows=3,columns=4,width=5")
    assert problem == PermuteColumns(3, 4, 5)
    assert problem.bytes == 4 * (12 + 5 + 15)
    for wrong in ({"rows": 0}, {"width": 0}, {"dtype": "complex64"}):
        with pytest.raises(InputError):
            PermuteColumns(**{"rows": 3, "columns": 4, "width": 5, **wrong})
    (rows,) = (rung for rung in GPU if rung.name == "rows")
    assert "shared memory" in rows.why_not(PermuteColumns(2, 20_000, 2))
    assert "32-bit" in GPU[0].why_not(PermuteColumns(1, 2**31, 1))
