"""Every rung of `record_mean`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.patterns.record_mean import NAMED, RecordMean
from tests.support.every_rung import EveryRung, Wrong

SOME = RecordMean(1003, 300)


class TestRungs(EveryRung):
    problems = (RecordMean(1), RecordMean(70, 3), SOME)
    near = (SOME,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        SOME,
        ("naive", "at + 1", "at"),
        ("tree", "reach > 0", "reach > 1"),
        ("tree", "if (k != at) new_record[k]", "if (k > at) new_record[k]"),
    )


def test_the_rest_of_the_record_stays():
    values, record, step = SOME.random(0)
    made, following = SOME.reference(values, record, step)
    assert following[0] == step[0] + 1
    assert np.flatnonzero(made != record).tolist() == step.tolist()


@pytest.mark.parametrize("wrong", [{"size": 0}, {"steps": 0}])
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(SOME, **wrong)
