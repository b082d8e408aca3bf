"""Every rung of `convert`."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.errors import InputError
from rooftile.ops.patterns.convert import NAMED, Convert
from tests.support.every_rung import EveryRung, Wrong

SOME = Convert(1003)


class TestRungs(EveryRung):
    problems = (
        Convert(1003, made="bfloat16"),
        Convert(64, "float16", "float32"),
        Convert(1001, "bfloat16", "float32"),
        Convert(77, "uint8", "uint8"),
        SOME,
    )
    near = (SOME,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        SOME,
        ("naive", "y[i] = MADE(x[i])", "y[i] = MADE(x[0])"),
        ("fours", "i < last", "i < last - 1"),
    )


@pytest.mark.parametrize("wrong", [{"size": 0}, {"made": "uint8"}, {"given": "float64"}])
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(SOME, **wrong)
