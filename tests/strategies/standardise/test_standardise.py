"""Every rung of `standardise`."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.errors import InputError
from rooftile.ops.patterns.standardise import NAMED, Standardise
from tests.support.every_rung import EveryRung, Wrong

SOME = Standardise(2 * 3 * 35, 35, 3)


class TestRungs(EveryRung):
    problems = (Standardise(1003), Standardise(16 * 3 * 8, 16, 3), SOME)
    near = (SOME,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        SOME,
        ("naive", "% TABLES * 256", "% TABLES"),
        ("shared_tables", "TABLE(first + 3, first)", "TABLE(first + 2, first)"),
    )


@pytest.mark.parametrize("wrong", [{"size": 0}, {"plane": 0}, {"tables": 0}])
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(SOME, **wrong)
