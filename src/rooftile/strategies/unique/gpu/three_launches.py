"""`three_launches`: beginnings of runs are counted, counts are scanned, elements move. Source:
Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Counted, beside, stored_apart, stored_beside
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.patterns.unique import Unique
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.sections import RUN, InSections
from rooftile.strategies.common.sort_keys import key_macros
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class ThreeLaunches(InSections):
    """Takes every problem."""

    operation = "unique"
    name = "three_launches"
    summary = "beginnings of runs are counted, counts are scanned, elements move"
    takes = features("dtype:* runs")
    summing = "move"
    wide_indices = True
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), RUN)

    def macros(self, problem: Unique, config: Config) -> dict[str, int | str]:
        keys = key_macros(Sort((1,), dtype=problem.dtype, gives="places"))
        return {**keys, "RUNS": int(problem.runs), **config}

    def workspace(self, problem: Unique, config: Config) -> dict[str, int]:
        runs = {"firsts": 2 * problem.count} if problem.runs else {}
        return {**super().workspace(problem, config), **runs}

    def steps(self, problem: Unique, config: Config) -> tuple[Step, ...]:
        counting, between, moving = self.launches(problem, config, "move")
        sections, count = np.int64(self.sections(problem, config)), np.int64(problem.count)
        given = ("x", "order") if problem.runs else ("x",)
        more = ("index", "inverse", "firsts") if problem.runs else ()
        steps = (
            Step(counting, (*given, "places", count)),
            Step(between, ("places", "found", sections)),
            Step(moving, (*given, "places", "y", *more, count)),
        )
        if not problem.runs:
            return steps
        grid = (blocks(problem.count, config["BLOCK"]), 1, 1)
        measuring = Launch(self.kernel("measure"), grid, (config["BLOCK"], 1, 1))
        return (*steps, Step(measuring, ("firsts", "found", "counts", count)))

    def accesses(self, problem: Unique, config: Config) -> Counted:
        """Elements to be told apart, twice, and to be moved."""
        size = numpy_dtype(problem.dtype).itemsize
        if not problem.runs:
            return self.counted(problem, config, "move", flags=size, moved=size)
        # An element is read where the order says, which comes besides.
        made = dict(self.counted(problem, config, "move", flags=size + 8, moved=size + 16))
        made[self.kernel("move")] += stored_apart(problem.count)
        made[self.kernel("measure")] = beside(2 * problem.count, 8) + stored_beside(
            problem.count, 8
        )
        return made


STRATEGY = ThreeLaunches()
