"""Rows by a thread each, and by teams of threads. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), section 6.2.2.3; PMPP, section 10.6 (the tree in shared memory)."""

from __future__ import annotations

from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient
from rooftile.strategies.common.threads import OverRows, RowTeams
from rooftile.strategies.contract.gpu import Config


class Naive(OverRows):
    """Neighbouring threads read a whole row apart."""

    operation = "softmax_gradient"

    def macros(self, problem: SoftmaxGradient, config: Config) -> dict[str, int | str]:
        return {"CLASSES": problem.classes, **config}

    def shape(self, problem: SoftmaxGradient) -> tuple[int, int]:
        return problem.batch, problem.classes

    def arguments(self, problem: SoftmaxGradient) -> tuple[str | int, ...]:
        return ("y", "dy", "dx", problem.batch)


class BlockRows(RowTeams, Naive):
    """Short rows share a block; sums are the same in every run."""

    summary = "a team of threads a row, its sum joined by a tree"


STRATEGIES = (Naive(), BlockRows())
