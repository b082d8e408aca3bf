"""The base of the GPU strategies of `pool2d_gradient`: macros, and a grid over threads."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.pools import window_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step


class GpuPool2dGradient(GpuStrategy):
    """A GPU strategy of `pool2d_gradient`; takes every problem unless it says otherwise."""

    operation = "pool2d_gradient"

    def macros(self, problem: Pool2dGradient, config: Config) -> dict[str, int | str]:
        return {**window_macros(problem), "AVERAGE": int(problem.pool.kind == "average"), **config}

    def over(self, problem: Pool2dGradient, threads: int, config: Config) -> tuple[Step, ...]:
        """One kernel of ``threads`` threads."""
        grid = (blocks(threads, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "dy", "dx", problem.batch * problem.channels)),)
