"""`block_rows`: a team of threads a row, joined by a tree.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 10.6 (the tree in shared memory).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.strategies.common.grid import beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.loss_gradient.gpu._base import ARGUMENTS, GpuLossGradient

_BLOCK = 256
"""Threads of a block where its rows are short."""
_THREAD_OUTPUTS = 4
"""Outputs a thread, where there are enough."""


class BlockRows(GpuLossGradient):
    """Short rows share a block; sums are the same in every run."""

    name = "block_rows"
    summary = "a team of threads a row, its sum joined by a tree"
    tunables = (Tunable("TEAM", (2, 8, 32, 128, 512), 32), Tunable("TEAMS", (1, 2, 8, 32), 1))

    def defaults(self, problem: LossGradient) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block does."""
        team = tile_of(blocks(problem.outputs, _THREAD_OUTPUTS), 2, 512)
        return {"TEAM": team, "TEAMS": min(64, max(1, _BLOCK // team))}

    def invalid(self, problem: LossGradient, config: Config) -> str | None:
        return beyond_block(config["TEAM"] * config["TEAMS"])

    def steps(self, problem: LossGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a team of threads a row."""
        grid = (blocks(problem.rows, config["TEAMS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["TEAM"], config["TEAMS"], 1))
        return (Step(launch, (*ARGUMENTS, problem.rows)),)


STRATEGY = BlockRows()
