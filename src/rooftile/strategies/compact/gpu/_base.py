"""The base of the GPU strategies of `compact`."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Accesses, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

THREADS = Tunable("BLOCK", (64, 128, 256, 512), 256)


class GpuCompact(GpuStrategy):
    """A GPU strategy of `compact`."""

    operation = "compact"
    takes = features("dtype:* ordered")
    wide_indices = True

    def macros(self, problem: Compact, config: Config) -> dict[str, int | str]:
        return {"SIZE": problem.itemsize, **config}


class Counting(GpuCompact):
    """A counter gives places in order of arrival."""

    atomic = True
    tunables = (THREADS, Tunable("BLOCKS", (1, 2, 4, 8), 4))

    def limits(self, problem: Compact) -> str | None:
        if problem.ordered:
            return "elements come in the order in which threads do, and the order matters here"
        return None

    def macros(self, problem: Compact, config: Config) -> dict[str, int | str]:
        macros = super().macros(problem, config)
        del macros["BLOCKS"]
        return macros

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        wanted = config["BLOCKS"] * self.machine.multiprocessors
        grid = min(wanted, blocks(problem.count, config["BLOCK"]))
        launch = Launch(self.kernel(), (grid, 1, 1), (config["BLOCK"], 1, 1))
        return (
            Step(Launch(self.kernel("clear"), (1, 1, 1), (1, 1, 1)), ("kept",)),
            Step(launch, ("x", "mask", "y", "kept", np.int64(problem.count))),
        )

    def kept(self, problem: Compact, config: Config) -> Accesses:
        """Every element and flag once, a thread's one after another; all are stored, at most."""
        grid = self.steps(problem, config)[-1].launch.grid[0]
        moved = beside(problem.count, problem.itemsize) + beside(problem.count, 1)
        own = chain(problem.count, blocks(problem.count, grid * config["BLOCK"]))
        return moved + stored_beside(problem.count, problem.itemsize) + own
