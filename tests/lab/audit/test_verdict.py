"""The verdict on several parts is one verdict."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.lab.judge.verdict import Verdict, worse

RIGHT = Verdict(True, budget_fraction=0.25, index=(1, 2), max_abs=0.5, max_rel=0.125)


def test_the_index_of_a_later_part_is_counted_from_the_first_item():
    wrong = Verdict(False, "far off", budget_fraction=3.0, index=(0, 4), wrong_elements=2)
    both = worse(RIGHT, wrong, 10)
    assert (both.passed, both.reason, both.index) == (False, "far off", (10, 4))
    assert (both.max_abs, both.max_rel, both.wrong_elements) == (0.5, 0.125, 2)
    assert worse(wrong, RIGHT, 10).index == (0, 4)


@pytest.mark.parametrize("first", [0, 7])
def test_an_empty_index_stays_empty(first):
    """An output without axes has one element, whose index is empty; so has an empty part."""
    scalar = Verdict(False, budget_fraction=2.0, wrong_elements=1, got=1.0, expected=2.0)
    for both in (worse(RIGHT, scalar, first), worse(scalar, RIGHT, first)):
        assert (both.passed, both.index, both.budget_fraction) == (False, (), 2.0)
    other = dataclasses.replace(scalar, budget_fraction=4.0)
    assert worse(scalar, other, first).index == ()
