"""Which arrays between a step's stages lie in fewer bits: what readers round anyway, and places.

It is settled from the first stage to the last: which gradients a stage asks for depends on whether
the one below takes the derivative of its own activation, by places of 8 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rooftile.nn.training.gpu.layers import FirstConvStage, Stage, WinnersStage
from rooftile.nn.training.gpu.linear_layer import LinearStage
from rooftile.ops import Problem
from rooftile.strategies.contract.gpu import GRADIENTS, PLACES, GpuStrategy

_MOST_POSITIONS = 255
"""Of a window, which 8 bits tell apart, and from a window without a winner."""


def narrow_between(row: Sequence[Stage], images: str = "") -> str:
    """Say of all stages' arrays how they lie; the network's input may lie in the 16 bits of the
    precision ``images``, if any.  Returns that where it does, and "" where it has float32."""
    # The activation whose value a stage's input is; nobody asks for the first one's gradient.
    before = lowest = ""
    for number, one in enumerate(row):
        below = row[number - 1] if number else None
        if isinstance(one, WinnersStage):
            _tell_places(one, before)
            if below is None:
                _narrow_images(one, images)
            else:
                _narrow_input(one, below, before)
            if isinstance(below, WinnersStage):
                _narrow_gradient(one, below, before, lowest)
        if isinstance(one, LinearStage) and isinstance(below, FirstConvStage):
            _narrow_features(one, below)
        before, lowest = one.before, before
    first = row[0] if row else None
    return images if isinstance(first, WinnersStage) and first.x_lies else ""


def _tell_places(one: WinnersStage, before: str) -> None:
    """Tell winners by their positions in their windows, in 8 bits."""
    users = [(one.rung, one.problem), *_gradients(one, before)]
    assert one.problem.pool is not None
    few = math.prod(one.problem.pool.window) <= _MOST_POSITIONS
    if few and all(one.runs(*user, PLACES) for user in users):
        one.tell_positions()


def _narrow_images(one: WinnersStage, images: str) -> None:
    """Have the network's input lie in the 16 bits of the precision ``images``."""
    forward, weights = one.of_images(images)
    readers = (forward, one.problem), (weights, one.of_weights[1])
    if all(one.rounds(*reader, "X_NARROW", images) for reader in readers):
        one.rung, one.weights_rung, one.x_lies["X_NARROW"] = forward, weights, 1


def _narrow_input(one: WinnersStage, below: Stage, before: str) -> None:
    """Have a stage's input lie in 16 bits, as what the stage below makes."""
    # The gradient of x reads it for the derivative of the activation before alone.
    readers = [(one.rung, one.problem), *_gradients(one, "" if before == "none" else before)]
    if not all(one.rounds(*reader, "X_NARROW") for reader in readers):
        return
    if isinstance(below, WinnersStage) and below.rounds(below.rung, below.problem, "OUT_NARROW"):
        below.y_lies["OUT_NARROW"] = one.x_lies["X_NARROW"] = 1


def _narrow_gradient(one: WinnersStage, below: WinnersStage, before: str, lowest: str) -> None:
    """Have the gradient lie in 16 bits that a stage hands to the one below, whose own input is the
    value of the activation ``lowest``."""
    hands = one.rounds(*one.of_input(before), "OUT_NARROW")
    if hands and all(below.rounds(*reader, GRADIENTS) for reader in _gradients(below, lowest)):
        one.dx_lies["OUT_NARROW"] = 1
        below.dz_lies[GRADIENTS] = 1


def _narrow_features(one: LinearStage, below: FirstConvStage) -> None:
    """Have what a network's first convolution hands to a large linear layer lie in 16 bits, and the
    gradient that comes back.  The layer's products round both of their factors; the convolution
    reads the gradient alone, and of its results whether they are zero."""
    if below.problem.activation not in ("none", "relu") or not one.may_be_narrow:
        return
    weights = below.of_narrow()
    if weights is not None and below.rounds(below.rung, below.problem, "OUT_NARROW"):
        one.narrow()
        below.y_lies["OUT_NARROW"], below.weights_rung = 1, weights


def _gradients(one: WinnersStage, before: str) -> list[tuple[GpuStrategy, Problem]]:
    """What computes a stage's gradients: nobody asks for that of x where no activation is named."""
    return [one.of_weights, *([one.of_input(before)] if before else [])]
