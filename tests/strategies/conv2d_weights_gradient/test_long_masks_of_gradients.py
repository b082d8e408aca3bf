"""The text of `row_vectors` has loops where the mask has many taps."""

from __future__ import annotations

import pytest

from rooftile.devices.cpu.native.build import MOST_INSTRUCTIONS
from rooftile.lab.judge.verify import verify
from rooftile.ops.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import strategy
from rooftile.strategies.conv2d_weights_gradient.cpu.row_vectors import _kernel

RUNG = strategy("conv2d_weights_gradient", "row_vectors")


@pytest.mark.parametrize("mask", [(1, 256), (256, 1), (97, 1), (1, 75), (9, 7), (3, 41), (16, 16)])
def test_a_mask_of_many_taps(mask: tuple[int, int]) -> None:
    """Whole rows of it share a walk over the gradients, or parts of one."""
    for lanes, registers in ((8, 16), (16, 32)):
        text = _kernel(*mask, lanes, registers).text(("float32",) * 4, False)
        assert text.count("\n") <= MOST_INSTRUCTIONS
    tall, wide = mask
    problem = Conv2dWeightsGradient(2, 2, tall + 3, wide + 18, 2, mask)
    verify(problem, RUNG, neighbours=False).raise_if_wrong()
