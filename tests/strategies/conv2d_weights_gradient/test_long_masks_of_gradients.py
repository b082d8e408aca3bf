"""The texts of the gradients have loops where the mask has many taps."""

from __future__ import annotations

import pytest

from rooftile.devices.cpu.native.build import MOST_INSTRUCTIONS
from rooftile.lab.judge.verify import verify
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import strategy
from rooftile.strategies.conv2d_input_gradient.cpu import nonzeros as of_inputs
from rooftile.strategies.conv2d_weights_gradient.cpu import nonzeros as of_weights
from rooftile.strategies.conv2d_weights_gradient.cpu.row_vectors import kernel

RUNG = strategy("conv2d_weights_gradient", "row_vectors")


@pytest.mark.parametrize("mask", [(1, 256), (256, 1), (97, 1), (1, 75), (9, 7), (3, 41), (16, 16)])
def test_a_mask_of_many_taps(mask: tuple[int, int]) -> None:
    """Whole rows of it share a walk over the gradients, or parts of one."""
    for lanes, registers in ((8, 16), (16, 32)):
        text = kernel(*mask, lanes, registers).text(("float32",) * 4, False)
        assert text.count("\n") <= MOST_INSTRUCTIONS
    tall, wide = mask
    problem = Conv2dWeightsGradient(2, 2, tall + 3, wide + 18, 2, mask)
    verify(problem, RUNG, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("mask", [(46, 46), (50, 7), (97, 1), (64, 90)])
def test_nonzeros_of_a_tall_mask(mask: tuple[int, int]) -> None:
    """A block of its rows, or a row, is a round of a loop."""
    tall, wide = mask
    of_five = ("float32", "float32", "int64", "float32", "float32")
    for lanes in (8, 16):
        for module, dtypes in ((of_weights, of_five), (of_inputs, ("float32",) * 3)):
            text = module._kernel(*mask, False, lanes).text(dtypes, False)
            assert text.count("\n") <= MOST_INSTRUCTIONS * 2 // 3
    sizes = 2, 2, tall + 3, wide + 4, 2, mask
    for problem in (Conv2dWeightsGradient(*sizes), Conv2dInputGradient(*sizes)):
        rung = strategy(problem.operation, "nonzeros")
        if rung.why_not(problem) is None:
            verify(problem, rung, neighbours=False).raise_if_wrong()
