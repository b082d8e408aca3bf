"""`neighbours`: several time steps in one launch; a warp waits for its neighbours alone. Source: as
`one_barrier`; for barriers of parts of a block, NVIDIA, "Parallel Thread Execution ISA", on
``mbarrier``."""

from __future__ import annotations

import math

from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.stencil.gpu.one_barrier import OneBarrier


class Neighbours(OneBarrier):
    """Takes stars of three axes on grids that threads share out evenly."""

    name = "neighbours"
    devices = ("cuda",)
    least_architecture = 90
    summary = "several time steps a launch; a warp waits for its neighbours alone"
    takes = frozenset()

    def thread_rows(self, problem: Stencil, levels: int) -> int:
        """As many as rims and grid have whole threads of."""
        most = super().thread_rows(problem, levels)
        return math.gcd(most, levels * problem.radius, problem.size[1])

    def invalid(self, problem: Stencil, config: Config) -> str | None:
        if problem.output_size != problem.size:
            return "it makes all cells of a grid"
        rim = config["LEVELS"] * problem.radius
        for name, size in zip(("THREAD_ROWS", "THREAD_COLUMNS"), problem.size[1:], strict=True):
            if rim % config[name] or size % config[name]:
                return f"a thread has {config[name]} neighbours, a rim {rim} and the grid {size}"
        return super().invalid(problem, config)


STRATEGY = Neighbours()
