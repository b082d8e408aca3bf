"""`three_launches`: what goes before the pivot is counted, counts are scanned, all move. Source:
Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.ops.features import features
from rooftile.ops.patterns.partition import Partition
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies.common.sections import RUN, InSections
from rooftile.strategies.common.sort_keys import key_macros
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class ThreeLaunches(InSections):
    """Takes every problem."""

    operation = "partition"
    name = "three_launches"
    summary = "what goes before the pivot is counted, counts are scanned, all move"
    takes = features("dtype:*")
    summing = "move"
    wide_indices = True
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), RUN)

    def macros(self, problem: Partition, config: Config) -> dict[str, int | str]:
        return {**key_macros(Sort((1,), dtype=problem.dtype, gives="places")), **config}

    def steps(self, problem: Partition, config: Config) -> tuple[Step, ...]:
        counting, between, moving = self.launches(problem, config, "move")
        sections, count = np.int64(self.sections(problem, config)), np.int64(problem.count)
        return (
            Step(counting, ("x", "pivot", "places", count)),
            Step(between, ("places", "less", sections)),
            Step(moving, ("x", "pivot", "places", "less", "y", count)),
        )

    def accesses(self, problem: Partition, config: Config) -> Counted:
        """Elements to be told apart, twice, and to be moved."""
        size = numpy_dtype(problem.dtype).itemsize
        return self.counted(problem, config, "move", flags=size, moved=size)


STRATEGY = ThreeLaunches()
