"""Rows staged in scratch are the image's with its ghost cells, phase by phase, and nothing else."""

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import source, vector
from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.cpu._stage import Staged

MODES = {"zero": "constant", "replicate": "edge"}


@pytest.mark.parametrize("boundary", MODES)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("width", [3, 16, 28, 70])
@pytest.mark.parametrize(("mask", "padding"), [(3, 1), (5, 2), (1, 5), (3, 16), (9, 37)])
def test_rows_are_those_of_the_padded_image(mask, padding, width, stride, boundary):
    problem = Conv2d(
        1, 2, 5, width, 1, (3, mask), (1, stride), (1, padding), boundary=boundary
    )  # fmt: skip
    lanes = vector.lanes()
    staged = Staged(problem, 7, -(-problem.conv_size[1] // lanes), lanes)
    to = Writer()
    with to.block("def kernel(x, scratch, sizes, begin, end):"):
        staged.emit(to, "0", "0")
    x = np.random.default_rng(0).standard_normal(10 * width).astype(np.float32)
    scratch = np.full(staged.size + 16, np.nan, np.float32)
    stage = cpu.Spread(source("staged", to.text(), passes="variables"), ("float32", "float32"))
    stage((x, scratch), np.zeros(1, np.int64), 1, 1)

    assert np.isnan(scratch[staged.size :]).all()
    around = [(0, 0), (1, 1), (padding, padding)]
    rows = np.pad(x.reshape(2, 5, width), around, MODES[boundary])
    phases = scratch[: staged.size].reshape(2, 7, -1, staged.phase)
    for phase in range(phases.shape[2]):
        expected = rows[:, :, phase::stride][:, :, : staged.columns]
        found = phases[:, :, phase]
        assert np.array_equal(found[:, :, : expected.shape[2]], expected)
        assert np.isfinite(found[:, :, : staged.reach]).all()
