"""`one_barrier`: several time steps in one launch, one barrier a plane for all of them.

Source: Nguyen, Satish, Chhugani, Kim, Dubey, "3.5-D Blocking Optimization for Stencil Computations
on Modern CPUs and GPUs", SC10, for the steps of a launch.  That a star's plane completes another
with a thread's own cells, so that all steps can share a barrier, is ours.
"""

from __future__ import annotations

from dataclasses import replace

from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.common.volumes import Tile
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.stencil.gpu.several_steps import SeveralSteps


class OneBarrier(SeveralSteps):
    """Takes stars of three axes: of others the last plane meets neighbours too."""

    name = "one_barrier"
    summary = "several time steps a launch, all of which share one barrier a plane"

    def limits(self, problem: Stencil) -> str | None:
        if not problem.star or problem.rank < 3:
            return "not a star of three axes: the last plane's points are not the cell's alone"
        return super().limits(problem)

    def invalid(self, problem: Stencil, config: Config) -> str | None:
        needed = self.dynamic_bytes(problem, config)
        room = self.machine.shared_room(config["BLOCKS"])
        if needed > room:
            return f"{needed:,} bytes of shared memory a block, at most {room:,}"
        return super().invalid(problem, config)

    def dynamic_bytes(self, problem: Stencil, config: Config) -> int:
        """Two planes of every step."""
        return 4 * config["LEVELS"] * super().tile(problem, config).shared_floats

    def tile(self, problem: Stencil, config: Config) -> Tile:
        return replace(super().tile(problem, config), shared_floats=0)

    def macros(self, problem: Stencil, config: Config) -> dict[str, int | str]:
        alike = problem.steps % config["LEVELS"] == 0
        return {**super().macros(problem, config), "ALIKE": int(alike)}


STRATEGY = OneBarrier()
