"""Every rung of `unique`: the first of each run of equal elements."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.patterns.unique import Unique
from tests.support.every_rung import EveryRung, Wrong


class TestRungs(EveryRung):
    problems = (
        Unique(1),
        Unique(3001, "float64"),
        Unique(20_011, "bfloat16"),
        Unique(5003, "int16", runs=True),
    )
    near = (Unique(64, "uint8"),)
    compiled = (Unique(2**20),)
    wrong = Wrong(
        Unique(5003),
        ("three_launches", "!= key_of(x[AT(i - 1)])", "!= key_of(x[AT(i)])"),
        ("three_launches", "y[before + rank]", "y[rank]"),
        ("three_launches", "places[section] = before + rank", "places[section] = rank + own"),
    )


def test_problems():
    x = np.array([3, 3, 1, 1, 1, 3], np.int32)
    y, found = Unique(6, "int32").reference(x)
    assert y[: found[0]].tolist() == [3, 1, 3]
    with pytest.raises(InputError):
        Unique(3, "complex64")
