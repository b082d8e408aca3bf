"""`matched`: the threads of a warp find the threads with the same bin. Source: NVIDIA, "CUDA C++
Programming Guide", warp match functions; PMPP, section 9.6."""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import WARP, Accesses
from rooftile.ops.features import features
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._shared import SharedHistogram


class Matched(SharedHistogram):
    """Counts only: weights of a warp would have to be added first."""

    name = "matched"
    devices = ("cuda",)
    least_architecture = 70
    summary = "one thread of a warp adds for all of the same bin"
    takes = features("dtype:* edge_dtype:* edges")
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 512), Tunable("BLOCKS", (1, 2, 4), 2))

    def limits(self, problem: Histogram) -> str | None:
        return "weights" if problem.weighted else super().limits(problem)

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        return self.in_shared(problem, config)

    def within(self, problem: Histogram, groups: int) -> Accesses:
        """See `SharedHistogram.within`: equal elements of a warp are one atomic."""
        found = super().within(problem, groups)
        different = problem.bins * (1 - (1 - 1 / problem.bins) ** WARP)
        together = problem.count * different / WARP
        return replace(
            found,
            turns=max(1.0, together / groups / problem.bins),
            turns_if_equal=found.turns_if_equal / WARP,
        )


STRATEGY = Matched()
