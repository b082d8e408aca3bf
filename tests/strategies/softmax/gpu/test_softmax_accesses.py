"""Models of `softmax` rungs' accesses against counting what every thread does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.ops import Softmax
from rooftile.strategies import strategy


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(1, 40))
@pytest.mark.parametrize(("name", "stored"), [("naive", 2), ("block_rows", 1)])
def test_loads_and_stores_are_those_of_the_threads(name, stored, batch, classes):
    problem, rung = Softmax(batch, classes), strategy("softmax", name, "cuda")
    found = rung.accesses(problem, rung.config(problem))[rung.kernel()]
    assert found.loads == 3 * batch * classes
    assert found.stores == stored * batch * classes
