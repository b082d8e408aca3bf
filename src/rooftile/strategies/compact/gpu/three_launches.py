"""Rung 2, `three_launches`: flags are counted, counts are scanned, elements are scattered.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 11.6;
Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.compact import Compact
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.compact.gpu._base import THREADS, GpuCompact
from rooftile.strategies.gpu import Config, Step, Tunable


class ThreeLaunches(GpuCompact):
    """Takes every problem."""

    name = "three_launches"
    order = 2
    summary = "flags are counted, counts are scanned, elements are scattered"
    tunables = (THREADS, Tunable("RUN", (1, 4, 16, 64), 16))

    def sections(self, problem: Compact, config: Config) -> int:
        """Sections, a block each."""
        return blocks(problem.count, config["BLOCK"] * config["RUN"])

    def workspace(self, problem: Compact, config: Config) -> dict[str, int]:
        """A number of 64 bits for each section."""
        return {"places": 2 * self.sections(problem, config)}

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        """Three kernels."""
        sections, count = self.sections(problem, config), np.int64(problem.count)
        block = (config["BLOCK"], 1, 1)
        counting = Launch("count_sections", (sections, 1, 1), block)
        between = Launch("scan_counts", (1, 1, 1), block)
        scatter = Launch("scatter", (sections, 1, 1), block)
        return (
            Step(counting, ("mask", "places", count)),
            Step(between, ("places", "kept", np.int64(sections))),
            Step(scatter, ("x", "mask", "places", "y", count)),
        )


STRATEGY = ThreeLaunches()
