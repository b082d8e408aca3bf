"""Rows by a thread each, and by teams of threads. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), sections 6.2.1 and 6.2.2; PMPP, section 10.6 (the tree in shared memory)."""

from __future__ import annotations

from typing import ClassVar

from rooftile.ops.features import features
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.strategies.common.threads import OverRows, RowTeams
from rooftile.strategies.contract.gpu import Config, Tunable

ARGUMENTS = ("y", "targets", "targets", "loss", "dy")
"""The arrays, in the order of the kernels' arguments: targets as labels, and as numbers."""
_KINDS = {
    "sigmoid_cross_entropy": 0,
    "squared_error": 1,
    "half_squared_error": 1,
    "missed": 2,
    "squared_distance": 3,
}


class Naive(OverRows):
    """Neighbouring threads read a whole row apart."""

    operation = "loss_gradient"
    tunables: ClassVar[tuple[Tunable, ...]] = (Tunable("BLOCK", (32, 64, 128, 256), 256),)
    takes = features(
        "loss:half_squared_error,missed,sigmoid_cross_entropy,squared_distance numbers"
    )

    def macros(self, problem: LossGradient, config: Config) -> dict[str, int | str]:
        return {
            "KIND": _KINDS[problem.loss],
            "FACTOR": f"{problem.factor!r}f",
            "OUTPUTS": problem.outputs,
            "NUMBERS": int(problem.numbers),
            **config,
        }

    def shape(self, problem: LossGradient) -> tuple[int, int]:
        return problem.rows, problem.outputs

    def arguments(self, problem: LossGradient) -> tuple[str | int, ...]:
        return (*ARGUMENTS, problem.rows)


class BlockRows(RowTeams, Naive):
    """Short rows share a block; sums are the same in every run."""

    summary = "a team of threads a row, its sum joined by a tree"


STRATEGIES = (Naive(), BlockRows())
