"""Masks of one row and wide padding, and large ones with a stride, whose rows of taps direct_tile
does not write out: on every OpenCL device nothing lies beyond the output."""

from __future__ import annotations

import pytest

from rooftile.devices import opencl
from rooftile.errors import DeviceMissing
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d
from rooftile.strategies import strategy

# Maps that do not fill a group, columns that do not fill a thread.
FLAT = Conv2d(3, 4, 30, 27, 3, (1, 6), padding=(3, 2))
TALL = Conv2d(2, 2, 13, 11, 5, (6, 1), padding=(2, 3), activation="relu")

LARGE = Conv2d(2, 3, 43, 39, 9, (11, 11), (4, 4), (2, 2), activation="relu")


@pytest.mark.parametrize("problem", [FLAT, TALL, LARGE], ids=["flat", "tall", "large"])
def test_nothing_is_written_beyond_the_output(problem):
    try:
        devices = opencl.find()
    except DeviceMissing as error:
        pytest.skip(str(error))
    rung = strategy("conv2d", "direct_tile", "opencl")
    for index, device in enumerate(devices):
        found = verify(problem, rung, device=f"opencl:{index}", neighbours=False)
        assert found.passed, (device.name, found)
