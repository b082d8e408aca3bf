"""GPU strategies in three launches: sections are counted, counts are scanned, elements move."""

from __future__ import annotations

from typing import Any

from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.gpu import Config, GpuStrategy, Tunable

RUN = Tunable("RUN", (1, 4, 16, 64), 16)
"""Elements of a thread; a block has ``BLOCK`` threads."""


class InSections(GpuStrategy):
    """Of problems of ``count`` elements in a line."""

    def sections(self, problem: Any, config: Config) -> int:
        """Sections, a block each."""
        return blocks(problem.count, config["BLOCK"] * config["RUN"])

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        """A number of 64 bits for each section."""
        return {"places": 2 * self.sections(problem, config)}

    def launches(self, problem: Any, config: Config, last: str) -> tuple[Launch, Launch, Launch]:
        """``count_sections``, ``scan_counts``, and the kernel that moves elements."""
        grid, block = (self.sections(problem, config), 1, 1), (config["BLOCK"], 1, 1)
        return (
            Launch("count_sections", grid, block),
            Launch("scan_counts", (1, 1, 1), block),
            Launch(last, grid, block),
        )
