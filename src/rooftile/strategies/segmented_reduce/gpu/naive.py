"""`naive`: a thread a segment. Source: Kahan, "Further remarks on reducing truncation errors", CACM
8 (1965)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_reduce.gpu._base import GpuSegmented, lengths


class Naive(GpuSegmented):
    """Takes every operator: it keeps the order."""

    name = "naive"
    summary = "a thread a segment, its elements in their order"
    takes = features("dtype:* offsets:int32 operator.associative operator.commutative operator:*")
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def limits(self, problem: SegmentedReduce) -> str | None:
        return None

    def steps(self, problem: SegmentedReduce, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.segments, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        sizes = np.int64(problem.segments), np.int64(problem.count)
        return (Step(launch, ("x", "offsets", "results", *sizes)),)

    def accesses(self, problem: SegmentedReduce, config: Config) -> Counted:
        """Segments of one length: neighbouring threads read as far apart as that."""
        size, offset = (array.numpy.itemsize for array in problem.input_arrays)
        length = lengths(problem)
        made = apart(problem.count, length, size) + beside(2 * problem.segments, offset)
        guard = Accesses(divergent_warps=int(problem.segments % WARP != 0))
        made += stored_beside(problem.segments) + chain(problem.count, length)
        return {self.kernel(): made + guard}


STRATEGY = Naive()
