"""Arrays of an exam in a device's memory: their order of axes, their guards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rooftile.lab.judge.verify import GivenInput, MadeOutput
from rooftile.ops.problem import Array

PLACE = replace(Array("x", (2, 3, 4, 5)), layout="channels_last")


class Device:
    """Its memory is NumPy's."""

    def upload(self, array):
        return array.copy()

    def copy_out(self, memory, array):
        array[...] = memory


def images(seed=0):
    return np.random.default_rng(seed).standard_normal((2, 3, 4, 5)).astype(np.float32)


def test_channels_lie_last_where_a_strategy_has_them_there():
    given = images()
    there = GivenInput(given, PLACE, Device())
    assert (there.memory == np.moveaxis(given, 1, -1)).all()
    there.memory[0, 1, 2, 1] = 9
    there.check()
    assert given[0, 1, 1, 2] == 9


def test_results_come_back_in_the_problems_order():
    made, expected = np.zeros((2, 3, 4, 5), np.float32), images(1)
    there = MadeOutput(made, PLACE, Device())
    lying = np.ascontiguousarray(np.moveaxis(expected, 1, -1))
    there.memory[: made.nbytes] = lying.reshape(-1).view(np.uint8)
    assert there.fetch()
    assert (made == expected).all()
    there.memory[-1] ^= 1
    assert not there.fetch()
