"""An atomic counter, and places that several launches find.

Source: PMPP, section 9.6 (aggregation); Adinets, "CUDA Pro Tip: Optimized Filtering with
Warp-Aggregated Atomics" (NVIDIA, 2014); section 11.6; Blelloch, "Prefix Sums and Their
Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rooftile.analysis.accesses import Counted, scattered_loads, stored_apart
from rooftile.analysis.cooperation import block_scan, chain, in_turn, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.sections import RUN, InSections
from rooftile.strategies.compact.gpu._base import THREADS, Counting, GpuCompact
from rooftile.strategies.contract.gpu import Config, Step


class Atomic(Counting):
    """Takes problems whose elements may come in any order."""

    name = "atomic"
    summary = "every element takes the next place from one counter; the order is lost"

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """All elements that are kept take turns at one counter."""
        made = self.kept(problem, config) + increments(problem.count, 1, 1)
        return {self.kernel("clear"): stored_apart(1), self.kernel(): made}


class Aggregated(Counting):
    """Takes problems whose elements may come in any order."""

    name = "aggregated"
    summary = "a block takes places by one atomic; the order of blocks is lost"

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """A block's sections take turns at one counter; a section's flags are scanned first."""
        block = config["BLOCK"]
        sections = blocks(problem.count, block)
        within = block_scan("kogge_stone", block, sections)
        made = self.kept(problem, config)
        made += in_turn(within, int(made.steps))
        return {
            self.kernel("clear"): stored_apart(1),
            self.kernel(): made + increments(sections, 1, 1),
        }


class Sequential(GpuCompact):
    """Takes every problem."""

    name = "sequential"
    summary = "one thread, one element after the other"

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), (1, 1, 1), (1, 1, 1))
        return (Step(launch, ("x", "mask", "y", "kept", np.int64(problem.count))),)

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """One thread: each load is a request of its own.  All elements are kept, at most."""
        made = scattered_loads(2 * problem.count) + stored_apart(problem.count + 1)
        requests = replace(made, load_requests=made.loads)
        return {self.kernel(): requests + chain(problem.count, problem.count)}


class ThreeLaunches(InSections, GpuCompact):
    """Takes every problem."""

    name = "three_launches"
    summary = "flags are counted, counts are scanned, elements are scattered"
    summing = "scatter"
    tunables = (THREADS, RUN)

    def steps(self, problem: Compact, config: Config) -> tuple[Step, ...]:
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


STRATEGIES = (Atomic(), Aggregated(), Sequential(), ThreeLaunches())
