"""Every rung of `scatter`: updates that meet at one place are all done."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooftile
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.scatter import DTYPES, FUNCTIONS, Scatter
from rooftile.strategies import strategy
from tests.support.every_rung import EveryRung, Wrong

SUMS = Scatter(3001, 97)


class TestRungs(EveryRung):
    problems = (
        Scatter(1, 1),
        SUMS,
        Scatter(501, 97, "subtract"),
        Scatter(501, 97, "increment", "int64", "int64"),
        Scatter(501, 97, "decrement"),
        Scatter(501, 97, "max", "int64"),
        Scatter(501, 97, "exchange", "float64"),
        Scatter(501, 97, "add", "float32"),
        Scatter(501, 97, "min", "float32"),
        Scatter(501, 97, "multiply", "float64"),
    )
    near = (SUMS,)
    configured = (SUMS,)
    compiled = (SUMS, Scatter(501, 97, "max", "int64", "int64"))
    wrong = Wrong(
        SUMS,
        ("sequential", "combined(y[place], VALUE(i))", "VALUE(i)"),
        ("compare_and_swap", "combined(NUMBER(expected), value)", "value"),
        ("hardware", "place >= 0 &&", "place > 0 &&"),
        ("hardware", "UPDATE(y + place, VALUE(i))", "y[place] = combined(y[place], VALUE(i) + 1)"),
    )


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_function_and_dtype_on_the_cpu(function, dtype):
    problem = Scatter(701, 33, function, dtype)
    verify(problem, strategy("scatter", "loops"), hard=True, neighbours=False).raise_if_wrong()


@settings(max_examples=10)
@given(count=st.integers(1, 2000), places=st.integers(1, 300), seed=st.integers(0, 99))
def test_any_size_on_opencl(count, places, seed, opencl_device):
    problem = Scatter(count, places, "add", "float32")
    for name in ("hardware", "compare_and_swap"):
        rung = strategy("scatter", name, "opencl")
        verify(problem, rung, seed, device=opencl_device, neighbours=False).raise_if_wrong()


def test_an_exchange_leaves_one_of_the_values():
    problem = Scatter(4, 3, "exchange")
    x, index, values = (np.array(a, np.int32) for a in ([1, 2, 3], [0, 0, 2, 2], [5, 6, 7, 8]))
    for right in ([5, 2, 7], [6, 2, 8]):
        assert not problem._wrong(np.array(right, np.int32), x, index, values)
    for wrong in ([1, 2, 7], [5, 9, 7], [5, 2, 6]):
        assert "none of its values" in problem._wrong(np.array(wrong, np.int32), x, index, values)


def test_the_function():
    x, index = np.zeros(5, np.float32), np.array([0, 3, 3, 4])
    values = np.arange(1, 5, dtype=np.float32)
    assert (rooftile.scatter(x, index, values) == [1, 0, 0, 5, 4]).all()
    assert (rooftile.scatter(x, index, values, "max") == [1, 0, 0, 3, 4]).all()
    assert (rooftile.scatter(x, index, function="increment") == [1, 0, 0, 2, 1]).all()
    assert (x == 0).all()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"index": np.array([0, 5])}, "index"),
        ({"index": np.array([-1, 0])}, "index"),
        ({"index": np.array([0.5, 1])}, "index"),
        ({"values": np.ones(3, np.float32)}, "values"),
        ({"values": np.ones(2, np.int32)}, "values"),
        ({"values": None}, "values"),
        ({"function": "increment"}, "values"),
        ({"function": "divide"}, "function"),
        ({"x": np.ones(5, np.uint8)}, "x"),
    ],
)
def test_bad_arguments_are_named(changes, name):
    given = {"x": np.zeros(5, np.float32), "index": np.array([0, 4])}
    given |= {"values": np.ones(2, np.float32), **changes}
    with pytest.raises(InputError, match=name):
        rooftile.scatter(**given)


def test_problems():
    problem = parse("scatter", "count=9,places=4,function=min,dtype=int64")
    assert problem == Scatter(9, 4, "min", "int64")
    assert problem.bytes == 8 * 4 * 2 + 9 * (4 + 8)
    for wrong in ({"count": 0}, {"function": "divide"}, {"dtype": "uint8"}, {"index": "uint8"}):
        with pytest.raises(InputError):
            Scatter(**{"count": 3, "places": 3, **wrong})
