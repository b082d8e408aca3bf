"""Every rung of `rotate`: each element in its place, as it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies import ladder
from tests.support.every_rung import EveryRung, Wrong

PROBLEMS = (
    Rotate((1,)),
    Rotate((256,)),
    Rotate((70_001,), 5),
    Rotate((70, 301), -7, "uint8"),
    Rotate((3, 5, 7), 9, "float16"),
    Rotate((2, 33), 0, "float64"),
)
CPU, GPU = ladder("rotate"), ladder("rotate", "opencl")


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Rotate((64,)), Rotate((5, 63), -2, "uint8"))
    configured = (Rotate((61, 403), 100),)
    compiled = (PROBLEMS[1], PROBLEMS[3], PROBLEMS[5])
    wrong = Wrong(
        Rotate((70, 301), 7),
        ("naive", "j + columns - places", "j"),
        ("in_place", "to - columns)]", "j)]"),
        ("in_place", "x[i * columns + j]", "x[j]"),
    )


@settings(max_examples=25)
@given(
    rows=st.integers(1, 20), columns=st.integers(1, 300), shift=st.integers(-1000, 1000),
    dtype=st.sampled_from(["float32", "uint8", "bfloat16"]),
)  # fmt: skip
def test_any_shape_and_shift_on_the_cpu(rows, columns, shift, dtype):
    problem = Rotate((rows, columns), shift, dtype)
    for rung in CPU:
        verify(problem, rung, neighbours=False).raise_if_wrong()


def test_problems():
    problem = parse("rotate", "shape=3x4,shift=-1,dtype=uint8")
    assert problem == Rotate((3, 4), -1, "uint8")
    assert (problem.rows, problem.columns, problem.places) == (3, 4, 3)
    for wrong in ({"shape": ()}, {"shape": (3, 0)}, {"dtype": "complex64"}):
        with pytest.raises(InputError):
            Rotate(**{"shape": (3, 4), **wrong})
    assert Rotate((2**28,)).shrunk() == Rotate((2**20,))
    (in_place,) = (rung for rung in GPU if rung.name == "in_place")
    assert "at most 8192" in in_place.why_not(Rotate((8193,)))
    (step,) = GPU[0].steps(Rotate((2**31 + 17,)), GPU[0].config(Rotate((2**31 + 17,))))
    assert step.launch.grid[0] * 256 >= 2**31 + 17
