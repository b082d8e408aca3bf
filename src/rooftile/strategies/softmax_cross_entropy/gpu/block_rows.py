"""`block_rows`: a team of threads a row, joined by trees.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 10.6 (the tree in shared memory).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies.common.grid import beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.softmax_cross_entropy.gpu._base import GpuSoftmaxCrossEntropy, arguments

_BLOCK = 256
"""Threads of a block where its rows are short."""
_THREAD_CLASSES = 4
"""Classes a thread, where there are enough."""


class BlockRows(GpuSoftmaxCrossEntropy):
    """Short rows share a block; sums are the same in every run."""

    name = "block_rows"
    summary = "a team of threads a row, maximum and sum joined by trees"
    tunables = (Tunable("TEAM", (2, 8, 32, 128, 512), 32), Tunable("TEAMS", (1, 2, 8, 32), 1))

    def defaults(self, problem: SoftmaxCrossEntropy) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block does."""
        team = tile_of(blocks(problem.classes, _THREAD_CLASSES), 2, 512)
        return {"TEAM": team, "TEAMS": min(64, max(1, _BLOCK // team))}

    def invalid(self, problem: SoftmaxCrossEntropy, config: Config) -> str | None:
        return beyond_block(config["TEAM"] * config["TEAMS"])

    def steps(self, problem: SoftmaxCrossEntropy, config: Config) -> tuple[Step, ...]:
        """One kernel, a team of threads a row."""
        grid = (blocks(problem.batch, config["TEAMS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["TEAM"], config["TEAMS"], 1))
        return (Step(launch, arguments(problem)),)


STRATEGY = BlockRows()
