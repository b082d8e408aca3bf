"""`look_back`: a single pass, each tile looks back at those before it. Source: Merrill, Garland,
"Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA NVR-2016-002, 2016)."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted
from rooftile.ops.features import features
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.common.tiles_in_order import LOOKING, TilesInOrder
from rooftile.strategies.contract.gpu import Config, Step


class LookBack(TilesInOrder):
    """Takes every problem.

    It is for CUDA: a tile waits for tiles that were begun before it, and OpenCL promises of no
    work-group that it goes on running.
    """

    operation = "compact"
    name = "look_back"
    summary = "a single pass, tiles look back at how many those before them keep"
    takes = features("dtype:* ordered")
    tunables = LOOKING

    def itemsize(self, problem: Compact) -> int:
        return problem.itemsize

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        return self.passes(problem, config, ("x", "mask", "y", "kept"))

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """Elements and flags once."""
        return self.gathered(problem, config, masked=True)


STRATEGY = LookBack()
