"""`three_launches`: flags are counted, counts are scanned, elements are scattered.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 11.6;
Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.common.sections import RUN, InSections
from rooftile.strategies.compact.gpu._base import THREADS, GpuCompact
from rooftile.strategies.contract.gpu import Config, Step


class ThreeLaunches(InSections, GpuCompact):
    """Takes every problem."""

    name = "three_launches"
    summary = "flags are counted, counts are scanned, elements are scattered"
    summing = "scatter"
    tunables = (THREADS, RUN)

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        """Three kernels."""
        counting, between, moving = self.launches(problem, config, "scatter")
        sections, count = np.int64(self.sections(problem, config)), np.int64(problem.count)
        return (
            Step(counting, ("mask", "places", count)),
            Step(between, ("places", "kept", sections)),
            Step(moving, ("x", "mask", "places", "y", count)),
        )

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """The mask twice, elements once."""
        return self.counted(problem, config, "scatter", flags=1, moved=problem.itemsize)


STRATEGY = ThreeLaunches()
