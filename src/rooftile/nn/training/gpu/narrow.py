"""Arrays between a step's stages that are stored in fewer bits: numbers that readers round anyway,
and places.

It is decided from the first stage to the last: the gradients that a stage needs depend on whether
the stage below takes the derivative of its own activation, by places of 8 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from rooftile.nn.training.gpu.layers import ConvStage, FirstConvStage, Stage, WinnersStage
from rooftile.nn.training.gpu.linear_layer import LinearStage
from rooftile.ops import FORMATS, Problem

_MOST_POSITIONS = 255
"""Of a window, which 8 bits tell apart, and from a window without a winner."""


def narrow_between(row: Sequence[Stage], images: str = "") -> str:
    """Store arrays of all stages in fewer bits, as far as their strategies take them so; the
    network's input in the 16 bits of the precision ``images``, if any.  Returns that where it is
    stored so, and "" where it has float32."""
    # The activation whose value a stage's input is; nobody asks for the first one's gradient.
    before = lowest = ""
    narrowed = False
    for number, one in enumerate(row):
        below = row[number - 1] if number else None
        if isinstance(one, WinnersStage):
            tell_places(one, before)
            if below is None:
                narrowed = _narrow_images(one, images)
            elif isinstance(below, WinnersStage):
                _narrow_input(one, below, before)
                _narrow_gradient(one, below, before, lowest)
        if isinstance(one, LinearStage) and isinstance(below, FirstConvStage):
            narrow_features(one, below)
        before, lowest = one.before, before
    return images if narrowed else ""


def tell_places(one: WinnersStage, before: str) -> None:
    """Tell winners by their positions in their windows, in 8 bits."""
    assert one.layer.pool is not None
    few = math.prod(one.layer.pool.window) <= _MOST_POSITIONS
    if few and _settle([(one, "argmax", "uint8")], lambda: one.problems(before)):
        one.tell_positions()


def _narrow_images(one: WinnersStage, images: str) -> bool:
    """Store the network's input in the 16 bits of the precision ``images``; whether it is."""
    dtype = _dtype(images)
    return bool(dtype) and _settle([(one, "x", dtype)], lambda: one.problems(""))


def _narrow_input(one: WinnersStage, below: WinnersStage, before: str) -> None:
    """Store a stage's input, which the stage below makes, in 16 bits."""
    if dtype := _dtype(one.work.precision):
        # The gradient of x reads it for the derivative of the activation before alone.
        readers = "" if before == "none" else before
        changed = [(one, "x", dtype), (below, "y", dtype)]
        _settle(changed, lambda: [*one.problems(readers), below.problem])


def _narrow_gradient(one: WinnersStage, below: WinnersStage, before: str, lowest: str) -> None:
    """Store the gradient in 16 bits that a stage hands to the one below, whose own input is the
    value of the activation ``lowest``."""
    if dtype := _dtype(one.work.precision):
        changed = [(one, "dx", dtype), (below, "dy", dtype)]
        _settle(changed, lambda: [one.of_input(before), *below.problems(lowest)])


def narrow_features(one: LinearStage, below: FirstConvStage) -> None:
    """Store what a network's first convolution hands to a large linear layer in 16 bits, and the
    gradient that comes back.  The layer's products round both of their factors; the convolution
    reads the gradient alone, and of its results whether they are zero."""
    dtype = _dtype(below.work.precision)
    if not dtype or below.layer.activation not in ("none", "relu") or not one.may_store(dtype):
        return
    # Its weights' gradient has the float32 results of its own strategy.
    changed = [(below, "y", dtype), (below, "dy", dtype)]
    if _settle(changed, lambda: [below.problem, below.of_weights()]):
        one.dtype = dtype


def _settle(
    changed: Sequence[tuple[ConvStage, str, str]], problems: Callable[[], Iterable[Problem]]
) -> bool:
    """Store arrays of stages in other dtypes, where strategies take all problems that read or write
    them; whether they do."""
    for stage, name, dtype in changed:
        stage.stored[name] = dtype
    if all(changed[0][0].work.stores(problem) for problem in problems()):
        return True
    for stage, name, _ in changed:
        del stage.stored[name]
    return False


def _dtype(precision: str) -> str:
    """The 16-bit dtype of a precision; "" where it has none."""
    form = FORMATS.get(precision)
    return form.dtype if form is not None and form.bytes == 2 else ""
