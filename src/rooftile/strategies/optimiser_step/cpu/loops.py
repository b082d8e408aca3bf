"""`loops`: one parameter after the other, on one thread.

Source: Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.
"""

from __future__ import annotations

from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.ops.features import features
from rooftile.ops.gradients.optimiser_step import (
    EPSILON,
    GROWTH,
    MOST_SCALE,
    SQUARE_DECAY,
    OptimiserStep,
)
from rooftile.strategies import ArrayKernel, ArrayStrategy

_SGD = """        velocity = MOMENTUM * velocity_0[i] + gradient
        new_0[i] = velocity
        moved = velocity"""
_ADAM = """        mean = velocity_0[i] + MEAN_SHARE * (gradient - velocity_0[i])
        square = velocity_1[i] + SQUARE_SHARE * (gradient * gradient - velocity_1[i])
        new_0[i] = mean
        new_1[i] = square
        moved = mean / (np.sqrt(square) / root + EPSILON)"""
_SCALED = """
    # Every unit looks at all gradients; one tells the next scale.
    finite = True
    for i in range(sizes[0]):
        if not abs(gradients[i]) < np.float32(np.inf):
            finite = False
    scale = scaling[0]
    if begin == 0:
        counted = scaling[1] + np.float32(1)
        next_scale = scale
        if not finite:
            next_scale = scale * np.float32(0.5)
            counted = np.float32(0)
        elif counted == GROWTH:
            if scale < MOST_SCALE:
                next_scale = scale * np.float32(2)
            counted = np.float32(0)
        new_scaling[0] = next_scale
        new_scaling[1] = counted
    if not finite:
        for i in range(begin, end):
            new_parameters[i] = parameters[i]
SAME
        return
"""
_TEXT = """
def kernel(ARGUMENTS, sizes, begin, end):
    row = 4 * (np.int64(step[0]) - 1)
    rate = rates[row]
    root = rates[row + 2]
SCALED
    for i in range(begin, end):
        kept = np.float32(1)
        if i < sizes[1]:
            kept = rates[row + 1]
        gradient = gradients[i]DIVIDED
UPDATE
        new_parameters[i] = kept * parameters[i] - rate * moved
"""


@last_kernels
def _kernel(optimizer: str, momentum: float, scaled: bool) -> Native:
    """The kernel of an optimiser; units are parameters."""
    memories = range(1 if optimizer == "sgd" else 2)
    scaling, new_scaling = (["scaling"], ["new_scaling"]) if scaled else ([], [])
    arguments = [
        *("parameters", "gradients", *(f"velocity_{k}" for k in memories), "rates", "step"),
        *scaling, "new_parameters", *(f"new_{k}" for k in memories), *new_scaling,
    ]  # fmt: skip
    words = {
        "ARGUMENTS": ", ".join(arguments),
        "SCALED": _SCALED if scaled else "",
        "SAME": "\n".join(f"            new_{k}[i] = velocity_{k}[i]" for k in memories),
        "DIVIDED": " / scale" if scaled else "",
        "UPDATE": _SGD if optimizer == "sgd" else _ADAM,
        "MOMENTUM": f"np.float32({momentum!r})",
        "MEAN_SHARE": f"np.float32({1 - momentum!r})",
        "SQUARE_SHARE": f"np.float32({1 - SQUARE_DECAY!r})",
        "EPSILON": f"np.float32({EPSILON!r})",
        "GROWTH": f"np.float32({GROWTH!r})",
        "MOST_SCALE": f"np.float32({MOST_SCALE!r})",
    }
    text = _TEXT
    for word, value in words.items():
        text = text.replace(word, value)
    return source(f"optimiser_step-{optimizer}", text)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "optimiser_step"
    name = "loops"
    parallel = False
    summary = "one parameter after the other, on one thread"
    takes = features("optimizer:adam scaled")

    def kernel(self, problem: OptimiserStep) -> ArrayKernel:
        made = _kernel(problem.optimizer, problem.momentum, problem.scaled)
        return ArrayKernel(made, problem.size, (problem.size, problem.decayed))


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
