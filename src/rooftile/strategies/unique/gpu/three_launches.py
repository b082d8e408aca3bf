"""`three_launches`: beginnings of runs are counted, counts are scanned, elements move.

Source: Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.ops.features import features
from rooftile.ops.problem import numpy_dtype
from rooftile.ops.sort import Sort
from rooftile.ops.unique import Unique
from rooftile.strategies.common.sections import RUN, InSections
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.sort.gpu._base import key_macros


class ThreeLaunches(InSections):
    """Takes every problem."""

    operation = "unique"
    name = "three_launches"
    summary = "beginnings of runs are counted, counts are scanned, elements move"
    takes = features("dtype:*")
    summing = "move"
    wide_indices = True
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), RUN)

    def macros(self, problem: Unique, config: Config) -> dict[str, int | str]:
        """Keys of which equal elements have equal ones, and the tunables."""
        return {**key_macros(Sort((1,), dtype=problem.dtype, gives="places")), **config}

    def steps(self, problem: Unique, config: Config) -> tuple[Step, ...]:
        """Three kernels."""
        counting, between, moving = self.launches(problem, config, "move")
        sections, count = np.int64(self.sections(problem, config)), np.int64(problem.count)
        return (
            Step(counting, ("x", "places", count)),
            Step(between, ("places", "found", sections)),
            Step(moving, ("x", "places", "y", count)),
        )

    def accesses(self, problem: Unique, config: Config) -> Counted:
        """Elements to be told apart, twice, and to be moved."""
        size = numpy_dtype(problem.dtype).itemsize
        return self.counted(problem, config, "move", flags=size, moved=size)


STRATEGY = ThreeLaunches()
