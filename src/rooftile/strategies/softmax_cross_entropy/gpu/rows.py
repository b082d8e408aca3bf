"""Rows by a thread each, and by teams of threads. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), sections 4.1 (the stable form) and 6.2.2.3; PMPP, section 10.6 (the tree in shared
memory)."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies.common.threads import OverRows, RowTeams
from rooftile.strategies.contract.gpu import Config


class Naive(OverRows):
    """Neighbouring threads read a whole row apart."""

    operation = "softmax_cross_entropy"
    takes = features("weighted ignored")

    def macros(self, problem: SoftmaxCrossEntropy, config: Config) -> dict[str, int | str]:
        return {
            "CLASSES": problem.classes,
            "DIVISOR": f"{problem.divisor}.0f",
            "IGNORED": f"({problem.ignored})",
            "WEIGHTED": int(problem.weighted),
            **config,
        }

    def shape(self, problem: SoftmaxCrossEntropy) -> tuple[int, int]:
        return problem.batch, problem.classes

    def arguments(self, problem: SoftmaxCrossEntropy) -> tuple[str | int, ...]:
        """Without weights their placeholder is not read."""
        weights = "weights" if problem.weighted else "x"
        return ("x", "labels", weights, "loss", "dx", problem.batch)


class BlockRows(RowTeams, Naive):
    """Short rows share a block; sums are the same in every run."""


STRATEGIES = (Naive(), BlockRows())
