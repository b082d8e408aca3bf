"""The base of the GPU strategies of `pool2d_winners`: macros, and a grid over the windows."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.pools import window_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step


class GpuPool2dWinners(GpuStrategy):
    """A GPU strategy of `pool2d_winners`; takes every problem unless it says otherwise."""

    operation = "pool2d_winners"

    def macros(self, problem: Pool2dWinners, config: Config) -> dict[str, int | str]:
        return {**window_macros(problem), **config}

    def over(self, problem: Pool2dWinners, threads: int, config: Config) -> tuple[Step, ...]:
        """One kernel of ``threads`` threads."""
        grid = (blocks(threads, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "y", "where", problem.batch * problem.channels)),)
