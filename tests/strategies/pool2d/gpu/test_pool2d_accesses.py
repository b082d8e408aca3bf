"""Models of `pool2d` rungs' accesses against counting what every thread does."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.ops import Pool, Pool2d
from rooftile.strategies import strategy


def model(problem, name):
    rung = strategy("pool2d", name, "cuda")
    return rung.accesses(problem, rung.config(problem))[rung.kernel()]


@settings(max_examples=25)
@given(st.integers(1, 3), st.integers(3, 12), st.integers(1, 9), st.integers(2, 3))
def test_loads_and_stores_are_those_of_the_threads(batch, high, quads, window):
    problem = Pool2d(batch, 2, high, 4 * quads, Pool.of("max", window))
    results = math.prod(problem.output_shape)
    found = model(problem, "naive")
    assert (found.loads, found.stores) == (results * window**2, results)
    found = model(problem, "vector_rows")
    _, channels, rows, columns = problem.output_shape
    vectors = -(-(3 * window + window) // 4)
    groups = batch * channels * rows * -(-columns // 4)
    assert found.loads == groups * vectors * window * 4
    assert found.stores == results
