"""Every rung of `sort`: exact values, places and pairs, of every dtype, along any axis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.patterns.sort import Sort, elements_of, ordered
from rooftile.ops.problem import DTYPES
from rooftile.runtime.selection.choice import choose
from rooftile.strategies import ladder, strategy
from tests.support.every_rung import EveryRung, Wrong

CPU = ladder("sort")


class TestRungs(EveryRung):
    problems = (
        Sort((1301,)),
        Sort((2, 601), gives="pairs", moves="float32"),
        Sort((2, 70, 3), 1, "bfloat16", gives="places", descending=True),
        Sort((1301,), dtype="uint16", descending=True),
        Sort((3, 401), dtype="float64", gives="places"),
        Sort((3, 41), 0, "int64", "pairs", descending=True),
    )
    near = (Sort((1,), dtype="uint8"), Sort((1,), dtype="int64", gives="places"))
    compiled = (Sort((2000,), gives="places"),)
    wrong = Wrong(
        Sort((2, 1301), dtype="uint8", gives="places"),
        ("odd_even", "round % 2; e + 1", "0; e + 1"),
        ("bitonic", "e ^ (2 * reach - 1)", "e ^ reach"),
        ("merge", "before(keys, first, own, right", "before(keys, first, own, 1 - right"),
        (
            "radix",
            "counts[DIGIT(own[e], shift) * BLOCK + thread]++;\n        tile",
            "0;\n        tile",
        ),
        ("radix", "own[at] = before + earlier", "own[at] = before"),
        ("bitonic", "(a == b && from_a > from_b)", "0"),
    )


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bfloat16"])
def test_every_dtype_on_the_cpu(dtype):
    for gives in ("values", "places"):
        problem = Sort((2003,), dtype=dtype, gives=gives, descending=gives == "values")
        for rung in CPU:
            if rung.why_not(problem) is None:
                verify(problem, rung, hard=True, neighbours=False).raise_if_wrong()


def test_buckets_of_any_distribution():
    """Many words with the same first bits outgrow a core's cache, and all of them one bucket."""
    problem = Sort((300_001,))
    (x,) = problem.random(0)
    y = np.empty_like(x)
    bound = strategy("sort", "buckets").bind(problem, (), cpu.open_device(2))
    for given_x in (x, 1 + x / 10_000, np.where(x < 1, np.float32(2.5), x), np.zeros_like(x)):
        bound(given_x.astype(np.float32), y)
        assert (y == np.sort(given_x.astype(np.float32))).all()


@settings(max_examples=12, deadline=None)
@given(
    shape=st.lists(st.integers(1, 9), max_size=1), count=st.integers(1, 700),
    values=st.integers(1, 300), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_shape_is_as_in_numpy(shape, count, values, seed):
    x = np.random.default_rng(seed).integers(0, values, (*shape, count)).astype(np.float32)
    for gives, expected in (("values", np.sort(x)), ("places", np.argsort(x, kind="stable"))):
        problem = Sort(x.shape, gives=gives)
        for rung in CPU:
            if rung.why_not(problem) is not None:
                continue
            made = np.empty(x.shape, expected.dtype)
            rung.bind(problem, (), cpu.open_device(2))(x, made)
            assert (made == expected).all()


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64"])
def test_places_of_long_keys(dtype):
    """Keys that differ in one half, in the other, and in both, of several lines, by `halves`."""
    numbers = np.random.default_rng(4)
    small = numbers.integers(0, 200, (3, 40_001))
    for x in (small, small << 40, small << 40 | small[:, ::-1]):
        problem = Sort(x.shape, dtype=dtype, gives="places")
        assert choose(problem).name == "halves"
        made = np.empty(x.shape, np.int64)
        choose(problem).bind(problem, (), cpu.open_device(2))(x.astype(dtype), made)
        assert (made == np.argsort(x.astype(dtype), kind="stable")).all()


def test_the_order_is_numpys_but_for_zeros():
    x = np.array([np.nan, -0.0, 3, -np.inf, 0.0, -np.nan, -2, np.inf], np.float32)
    assert np.argsort(ordered(x), kind="stable").tolist() == [3, 6, 1, 4, 2, 7, 0, 5]
    folded = np.argsort(ordered(x, zeros_equal=True), kind="stable")
    assert (folded == np.argsort(x, kind="stable")).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_become_the_elements_that_they_were_of(dtype):
    (x,) = Sort((1000,), dtype=dtype).random(0)
    assert (elements_of(ordered(x), x.dtype).view(np.uint8) == x.view(np.uint8)).all()
    if x.dtype.kind == "f":
        assert np.isnan(elements_of(ordered(x * np.nan), x.dtype)).all()


def test_problems():
    problem = parse("sort", "shape=3x4x5,axis=1,dtype=uint8,gives=pairs")
    assert problem == Sort((3, 4, 5), 1, "uint8", "pairs")
    assert (problem.count, problem.inner, problem.lines) == (4, 5, 15)
    assert Sort((2**26,)).bytes == 2**29
    assert Sort((8,)).flops == 16
    for wrong in (
        {"axis": 2},
        {"axis": True},
        {"dtype": "complex64"},
        {"gives": "keys"},
        {"descending": 1},
    ):
        with pytest.raises(InputError):
            Sort(**{"shape": (3, 4), **wrong})
    assert "int64" in strategy("sort", "buckets").why_not(Sort((9,), dtype="int64"))
    assert "at most 2048" in strategy("sort", "odd_even", "cuda").why_not(Sort((2049,)))
