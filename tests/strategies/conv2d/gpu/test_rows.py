"""The four variants of the OpenCL report: whole rows, their groups and items, on any rows."""

from __future__ import annotations

import pytest

from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.ladder_checks import check

VARIANTS = ("row_global", "row_private", "row_local", "row_pair")
# Rows as wide as a whole one and a bit, and maps that no number of items divides.
WIDE = Conv2d(1, 2, 6, 230, 67, (5, 5), padding=(2, 2), activation="relu", pool=Pool.of("max", 2))


@pytest.mark.parametrize("name", VARIANTS)
def test_whole_rows_are_right(name, opencl_device):
    check(strategy("conv2d", name, "opencl"), WIDE, opencl_device, config={"SPAN": 224})


@pytest.mark.parametrize("name", VARIANTS)
def test_every_group_and_number_of_items_of_the_sweep_exists(name):
    rung = strategy("conv2d", name, "opencl")
    values = {tunable.name: tunable.values for tunable in rung.tunables}
    assert values["GROUPS"] == (28, 56, 112)
    assert values["ITEMS"] == (64, 128, 256)
    assert 224 in values["SPAN"]


def test_rows_in_memory_are_those_of_the_report():
    problem = Conv2d(1, 256, 224, 224, 256, (5, 5), padding=(2, 2), pool=Pool.of("max", 2))
    lines = {name: strategy("conv2d", name, "opencl").lines(problem) for name in VARIANTS}
    assert lines == {"row_global": 6, "row_private": 6, "row_local": 6, "row_pair": 8}
