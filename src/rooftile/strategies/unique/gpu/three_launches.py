"""Rung 1, `three_launches`: beginnings of runs are counted, counts are scanned, elements move.

Source: Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.sort import Sort
from rooftile.ops.unique import Unique
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.gpu import Config, GpuStrategy, Step, Tunable
from rooftile.strategies.sort.gpu._base import key_macros


class ThreeLaunches(GpuStrategy):
    """Takes every problem."""

    operation = "unique"
    name = "three_launches"
    order = 1
    summary = "beginnings of runs are counted, counts are scanned, elements move"
    wide_indices = True
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), Tunable("RUN", (1, 4, 16, 64), 16))

    def why_not(self, problem: Unique) -> str | None:
        """None: it takes everything."""
        return None

    def macros(self, problem: Unique, config: Config) -> dict[str, int | str]:
        """Keys of which equal elements have equal ones, and the tunables."""
        return {**key_macros(Sort((1,), dtype=problem.dtype, gives="places")), **config}

    def sections(self, problem: Unique, config: Config) -> int:
        """Sections, a block each."""
        return blocks(problem.count, config["BLOCK"] * config["RUN"])

    def workspace(self, problem: Unique, config: Config) -> dict[str, int]:
        """A number of 64 bits for each section."""
        return {"places": 2 * self.sections(problem, config)}

    def steps(self, problem: Unique, config: Config) -> tuple[Step, ...]:
        """Three kernels."""
        sections, count = self.sections(problem, config), np.int64(problem.count)
        block = (config["BLOCK"], 1, 1)
        counting = Launch("count_sections", (sections, 1, 1), block)
        between = Launch("scan_counts", (1, 1, 1), block)
        moving = Launch("move", (sections, 1, 1), block)
        return (
            Step(counting, ("x", "places", count)),
            Step(between, ("places", "found", np.int64(sections))),
            Step(moving, ("x", "places", "y", count)),
        )


STRATEGY = ThreeLaunches()
