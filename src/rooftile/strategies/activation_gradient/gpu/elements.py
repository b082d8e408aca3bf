"""A thread for one element, and for four. Source: PMPP, section 2.3; Luitjens, "CUDA Pro Tip:
Increase Performance with Vectorized Memory Access", 2013."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.threads import OneKernel
from rooftile.strategies.contract.gpu import Config, Tunable


class Naive(OneKernel):
    """Each access moves four bytes."""

    operation = "activation_gradient"
    name = "naive"
    summary = "one thread an element"
    takes = features("activation:*")
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def macros(self, problem: ActivationGradient, config: Config) -> dict[str, int | str]:
        return {"ACTIVATION": ACTIVATION_CODES[problem.activation], **config}

    def threads(self, problem: ActivationGradient) -> int:
        return problem.size

    def arguments(self, problem: ActivationGradient) -> tuple[str | int, ...]:
        return ("y", "dy", "dx", problem.size)


class Vectors(Naive):
    """The last elements, which fill no vector, are one thread's."""

    name = "vectors"
    summary = "four neighbouring elements a thread, as vectors"

    def threads(self, problem: ActivationGradient) -> int:
        """A thread four elements."""
        return blocks(problem.size, 4)


STRATEGIES = (Naive(), Vectors())
