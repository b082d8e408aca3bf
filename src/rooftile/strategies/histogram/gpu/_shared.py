"""What rungs share whose blocks have all bins in shared memory."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.histogram import Histogram
from rooftile.strategies.gpu import Config, Step
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

    def why_not(self, problem: Histogram) -> str | None:
        """More bins than a block has room for."""
        need = self.shared_bytes(problem, self.least_config())
        room = self.machine.block_shared_bytes
        if need > room:
            return f"{need} bytes of shared memory for {problem.bins} bins, at most {room}"
        return super().why_not(problem)

    def invalid(self, problem: Histogram, config: Config) -> str | None:
        """More shared memory than a block has."""
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
            problem, Launch(self.name, grid, block, self.shared_bytes(problem, config))
        )
