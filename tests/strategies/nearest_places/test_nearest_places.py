"""Every rung of `nearest_places`."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.errors import InputError
from rooftile.ops import Pool
from rooftile.ops.gradients.nearest_places import NAMED, NearestPlaces
from tests.support.every_rung import EveryRung, Wrong

SOME = NearestPlaces(3, 19, 24, Pool.of("max", 3, 2))


class TestRungs(EveryRung):
    problems = (NearestPlaces(2, 5, 4, Pool.of("max", (2, 4), 1)), SOME)
    near = (SOME,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(SOME, ("naive", "top + high - 1", "top + high"))


@pytest.mark.parametrize("wrong", [{"planes": 0}, {"height": 2}, {"pool": Pool.of("average", 2)}])
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(SOME, **wrong)
