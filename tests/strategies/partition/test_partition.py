"""Every rung of `partition`: what goes before the pivot, then the others, in their order."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.patterns.partition import Partition
from tests.support.every_rung import EveryRung, Wrong


class TestRungs(EveryRung):
    problems = (Partition(1), Partition(3001, "int64"), Partition(20_011, "bfloat16"))
    near = (Partition(64, "uint8"),)
    compiled = (Partition(2**20),)
    wrong = Wrong(
        Partition(5003),
        ("three_launches", "less[0] + i - rank", "i"),
        ("three_launches", "places[section] = before + rank", "places[section] = rank + own"),
        ("three_launches", "key_of(x[i]) < middle;", "key_of(x[i]) <= middle;"),
    )


def test_problems():
    x = np.array([3, -0.0, 1, np.nan, -2, 0.0], np.float32)
    y, less = Partition(6).reference(x, np.zeros(1, np.float32))
    assert less == 1
    assert y[:1] == -2
    assert np.isnan(y[4])
    with pytest.raises(InputError):
        Partition(0)
