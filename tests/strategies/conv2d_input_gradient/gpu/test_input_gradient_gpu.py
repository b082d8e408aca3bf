"""Every GPU rung of `conv2d_input_gradient`."""

from __future__ import annotations

from every_rung import Wrong
from gradient_rungs import EveryGpuRung

from rooftile.ops import Pool
from rooftile.ops.conv2d_input_gradient import Conv2dInputGradient

FOURS = Conv2dInputGradient(
    3, 6, 17, 15, 5, (3, 4), padding=(1, 2), pool=Pool.of("max", 4), before="relu"
)
PLACED = Conv2dInputGradient(4, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), Pool.of("max", 2))


class TestRungs(EveryGpuRung):
    # Gradients of all outputs and of winners; more channels than a thread takes; windows that
    # overlap; more maps than shared memory holds.
    # One of them multiplies by the derivative of an activation.
    problems = (
        Conv2dInputGradient(2, 6, 8, 30, 2, (2, 19), (1, 1), (1, 2), before="sigmoid"),
        Conv2dInputGradient(2, 1, 60, 63, 9, (3, 4), pool=Pool.of("max", 3, 2)),
        PLACED,
        FOURS,
    )
    near = (PLACED, FOURS)
    compiled = (Conv2dInputGradient(64, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4)), PLACED)
    wrong = Wrong(
        PLACED,
        ("naive", "q >= 0 && q < MASK_WIDTH", "q > 0 && q < MASK_WIDTH"),
        ("gathered", "sum[1] += gradient * tap.y", "sum[1] += gradient * tap.x"),
    )
