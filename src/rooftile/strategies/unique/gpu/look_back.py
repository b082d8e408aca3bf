"""`look_back`: a single pass, each tile looks back at those before it. Source: Merrill, Garland,
"Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA NVR-2016-002, 2016)."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, apart
from rooftile.ops.features import features
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.patterns.unique import Unique
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies.common.sort_keys import key_macros
from rooftile.strategies.common.tiles_in_order import LOOKING, TilesInOrder
from rooftile.strategies.contract.gpu import Config, Step


class LookBack(TilesInOrder):
    """Takes every problem without runs.

    It is for CUDA: a tile waits for tiles that were begun before it, and OpenCL promises of no
    work-group that it goes on running.
    """

    operation = "unique"
    name = "look_back"
    summary = "a single pass, tiles look back at how many runs begin in those before them"
    takes = features("dtype:*")
    tunables = LOOKING

    def itemsize(self, problem: Unique) -> int:
        return numpy_dtype(problem.dtype).itemsize

    def defaults(self, problem: Unique) -> dict[str, int]:
        """Fewer rows than where a mask comes with the elements: keys take registers."""
        found = super().defaults(problem)
        return {**found, "ROWS": min(6, found["ROWS"])}

    def macros(self, problem: Unique, config: Config) -> dict[str, int | str]:
        keys = key_macros(Sort((1,), dtype=problem.dtype, gives="places"))
        return {**keys, **super().macros(problem, config)}

    def steps(self, problem: Unique, config: Config) -> tuple[Step, ...]:
        return self.passes(problem, config, ("x", "y", "found"))

    def accesses(self, problem: Unique, config: Config) -> Counted:
        """Elements once, and the one before each vector again, from the cache."""
        found = dict(self.gathered(problem, config, masked=False))
        size = self.itemsize(problem)
        found[self.kernel()] += apart(problem.count * size // 16, 16 // size, size)
        return found


STRATEGY = LookBack()
