"""`merge`: runs are merged to runs of twice the length; every element finds its own place. Source:
Satish, Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs" (IPDPS 2009),
section 4; PMPP, chapter 12 and section 13.7."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, scattered_loads
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.sort.gpu._base import BLOCKS, GpuSort, ends_of


class Merge(GpuSort):
    """Takes every problem."""

    name = "merge"
    summary = "runs are merged, every element finds its place by a binary search"
    tunables = (BLOCKS,)

    def steps(self, problem: Sort, config: Config) -> tuple[Step, ...]:
        passes = max(1, (problem.count - 1).bit_length())
        block = config["BLOCK"]
        grid = (problem.lines * blocks(problem.count, block), 1, 1)
        launch, found = Launch(self.kernel(), grid, (block, 1, 1)), []
        for number, ends in enumerate(ends_of(problem, passes)):
            sizes = wide(problem.count, problem.inner, 1 << number)
            found.append(Step(launch, (*ends.names, ends.first, ends.last, *sizes)))
        return tuple(found)

    def accesses(self, problem: Sort, config: Config) -> Counted:
        """A launch for each doubling: a binary search an element in the other run, whose reads lie
        apart, and a store."""
        count = problem.lines * problem.count
        passes = max(1, (problem.count - 1).bit_length())
        searched = sum(range(1, passes + 1))
        made = self.moved(problem, passes) + scattered_loads(searched * count)
        return {self.kernel(): made + chain(searched * count, searched)}


STRATEGY = Merge()
