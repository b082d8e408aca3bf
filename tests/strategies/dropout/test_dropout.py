"""Every rung of `dropout`, and that the words are those of Philox."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.layers.dropout import NAMED, Dropout
from tests.support.every_rung import EveryRung, Wrong

SOME = Dropout(1003, 0.3, 2**63 + 5, 2, 4)


class TestRungs(EveryRung):
    problems = (Dropout(3), SOME)
    near = (SOME,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        SOME,
        ("naive", "i / 4 * 4", "i"),
        ("quads", "round < 10", "round < 9"),
        ("quads", "4 * step[0] + 3", "4 * step[0] + 2"),
    )


def test_words_are_those_of_philox():
    """Of counter and key zero, as Random123's known answers have them."""
    words = Dropout(4).words_of(0, 0)
    assert [f"{word:08x}" for word in words] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_the_mean_stays_and_a_share_is_dropped():
    problem = Dropout(2**16, 0.3, 7)
    y = problem.reference(np.ones(problem.size, np.float32), np.zeros((1, 4)), np.zeros(1, int))
    assert abs(y.mean() - 1) < 0.02
    assert abs((y == 0).mean() - 0.3) < 0.01


@pytest.mark.parametrize(
    "wrong",
    [{"size": 0}, {"share": 0.0}, {"share": 1.0}, {"seed": -1}, {"seed": 2**64}, {"layer": -1}],
)
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(SOME, **wrong)
