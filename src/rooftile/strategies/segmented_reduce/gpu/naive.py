"""Rung 1, `naive`: a thread a segment.

Source: Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_reduce.gpu._base import GpuSegmented


class Naive(GpuSegmented):
    """Takes every operator: it keeps the order."""

    name = "naive"
    order = 1
    summary = "a thread a segment, its elements in their order"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def why_not(self, problem: SegmentedReduce) -> str | None:
        """None: it takes everything."""
        return None

    def steps(self, problem: SegmentedReduce, config: Config) -> tuple[Step, ...]:
        """One kernel."""
        grid = (blocks(problem.segments, config["BLOCK"]), 1, 1)
        launch = Launch("naive", grid, (config["BLOCK"], 1, 1))
        sizes = np.int64(problem.segments), np.int64(problem.count)
        return (Step(launch, ("x", "offsets", "results", *sizes)),)


STRATEGY = Naive()
