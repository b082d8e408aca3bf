"""`loops`: one element after the other, on one thread. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), section 6.3."""

from __future__ import annotations

from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.ops.activation import ACTIVATIONS
from rooftile.ops.features import features
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@last_kernels
def _kernel(name: str) -> Native:
    """The kernel of an activation; units are elements."""
    row = ACTIVATIONS[name]
    slope = row.scalar_slope.format(t="y[i]")
    text = f"""{row.scalar_function}
def kernel(y, dy, dx, sizes, begin, end):
    for i in range(begin, end):
        dx[i] = dy[i] * ({slope})
"""
    return source(f"activation_gradient-{name}", text.replace("REAL", "np.float32"))


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "activation_gradient"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("activation:*")

    def kernel(self, problem: ActivationGradient) -> ArrayKernel:
        return ArrayKernel(_kernel(problem.activation), problem.size)


STRATEGIES = loops_and_threads(Loops(), "the same loop on every core")
