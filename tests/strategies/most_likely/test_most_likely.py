"""Every rung of `most_likely`."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.errors import InputError
from rooftile.ops.layers.most_likely import NAMED, MostLikely
from tests.support.every_rung import EveryRung, Wrong

SOME = MostLikely(301, 10)


class TestRungs(EveryRung):
    problems = (MostLikely(300, 1), MostLikely(9, 130), SOME)
    near = (SOME,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(SOME, ("naive", "i < CLASSES", "i < CLASSES - 1"))


@pytest.mark.parametrize("wrong", [{"images": 0}, {"classes": 0}])
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(SOME, **wrong)
