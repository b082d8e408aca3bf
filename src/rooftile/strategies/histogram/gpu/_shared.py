"""The base of rungs whose blocks have all bins in shared memory."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted
from rooftile.analysis.cooperation import chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.histogram.gpu._base import GpuHistogram

_BYTES = 4
"""Of a bin in shared memory."""


class SharedHistogram(GpuHistogram):
    """Every block has the bins for itself, once or in several copies."""

    adds_alone = False

    def copies(self, config: Config) -> int:
        """Copies of the bins that a block has."""
        return 1

    def least_config(self) -> Config:
        """The config that needs the least shared memory."""
        return {}

    def limits(self, problem: Histogram) -> str | None:
        need = self.shared_bytes(problem, self.least_config())
        room = self.machine.block_shared_bytes
        if need > room:
            return f"{need} bytes of shared memory for {problem.bins} bins, at most {room}"
        return super().limits(problem)

    def invalid(self, problem: Histogram, config: Config) -> str | None:
        need, room = self.shared_bytes(problem, config), self.machine.block_shared_bytes
        return f"{need} bytes of shared memory, at most {room}" if need > room else None

    def shared_bytes(self, problem: Histogram, config: Config) -> int:
        """Of a block's bins."""
        return _BYTES * problem.bins * self.copies(config)

    def in_shared(self, problem: Histogram, config: Config, each: int = 1) -> tuple[Step, ...]:
        """Zeros, then persistent blocks with their bins."""
        grid = (self.persistent(problem, config, each), 1, 1)
        block = (config["BLOCK"], 1, 1)
        return self.plain(
            problem, Launch(self.kernel(), grid, block, self.shared_bytes(problem, config))
        )

    def accesses(self, problem: Histogram, config: Config) -> Counted:
        """One atomic an element in shared memory, then each block's bins."""
        step = self.steps(problem, config)[-1]
        grid = step.launch.grid[0]
        copies = self.copies(config)
        threads = grid * step.launch.threads
        made = self.read(problem) + self.within(problem, grid * copies)
        made += self.flushed(problem.bins, grid)
        made += Accesses(shared_reads=problem.bins * (copies - 1) * grid / WARP)
        made += chain(0, blocks(problem.count, threads))
        return {self.kernel("clear"): self.zeros(problem), self.kernel(): made}

    def within(self, problem: Histogram, groups: int) -> Accesses:
        """The accesses of ``groups`` groups of threads to the bins that each group has for
        itself."""
        return increments(problem.count, problem.bins, groups, shared=True)
