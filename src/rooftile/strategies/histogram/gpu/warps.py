"""Warps that count equal elements together.

Source: NVIDIA, "CUDA C++ Programming Guide", warp match functions; PMPP, section 9.6; PMPP, section
9.4.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, beside, stored_beside
from rooftile.analysis.cooperation import chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._base import CLEAR_THREADS, GpuHistogram, rule_arguments
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


_SAMPLE = 2**14
"""Elements by which the popular bins are found."""


class Hot(GpuHistogram):
    """A sample tells the popular bins; results do not depend on it."""

    name = "hot"
    summary = "the popular bins, as a sample tells them, in shared memory"
    tunables = (
        Tunable("BLOCK", (128, 256, 512), 256),
        Tunable("HOT", (256, 1024, 4096), 1024),
        Tunable("BLOCKS", (2, 4, 8), 4),
    )

    def macros(self, problem: Histogram, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "SAMPLE": _SAMPLE}

    def workspace(self, problem: Histogram, config: Config) -> dict[str, int]:
        bins = problem.bins
        return {"seen": bins, "places": bins, "owners": config["HOT"], "used": 1}

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        bins, block = problem.bins, (config["BLOCK"], 1, 1)
        most = max(bins, config["HOT"])
        clear, choose = (
            Launch(self.kernel(name), (blocks(count, CLEAR_THREADS), 1, 1), (CLEAR_THREADS, 1, 1))
            for name, count in (("clear_sample", most), ("choose", bins))
        )
        sample = Launch(self.kernel("sample"), (blocks(_SAMPLE, config["BLOCK"]), 1, 1), block)
        count = np.int64(problem.count)
        launch = Launch(self.kernel(), (self.persistent(problem, config), 1, 1), block)
        result = problem.output_arrays[0].name
        return (
            self.clearing(problem),
            Step(clear, ("seen", "owners", "used", bins)),
            Step(sample, ("x", "seen", count, *rule_arguments(problem))),
            Step(choose, ("seen", "places", "owners", "used", bins)),
            self.counting(problem, launch, result, "places", "owners"),
        )

    def accesses(self, problem: Histogram, config: Config) -> Counted:
        """Elements that fall evenly: as many bins are popular as have room, if a sample has enough
        of each; their elements count in shared memory."""
        grid, bins, most = self.persistent(problem, config), problem.bins, config["HOT"]
        popular = min(bins, most) if 2 * most > bins else 0
        own, sampled = problem.count * popular / bins, min(_SAMPLE, problem.count)
        size = problem.input_arrays[0].numpy.itemsize
        made = self.read(problem) + beside(problem.count + most * grid, 4)
        made += chain(0, blocks(problem.count, grid * config["BLOCK"]))
        if popular:
            made += increments(own, popular, grid, shared=True) + self.flushed(popular, grid)
        else:
            made += increments(problem.count, bins, 1)
        return {
            self.kernel("clear"): self.zeros(problem),
            self.kernel("clear_sample"): stored_beside(bins + most + 1),
            self.kernel("sample"): apart(sampled, blocks(problem.count, _SAMPLE), size)
            + increments(sampled, bins, 1),
            self.kernel("choose"): beside(bins)
            + stored_beside(bins + popular)
            + increments(popular, 1, 1),
            self.kernel(): made,
        }


STRATEGIES = (Matched(), Hot())
