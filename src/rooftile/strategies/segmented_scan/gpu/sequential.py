"""`sequential`: a thread a segment. Source: PMPP, section 11.1."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, beside, stored_apart
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_scan.gpu._base import GpuSegmentedScan


class Sequential(GpuSegmentedScan):
    """Takes every problem."""

    name = "sequential"
    summary = "a thread a segment, its elements one after the other"
    takes = features(
        "dtype:* exclusive index:int32 operator.associative operator.commutative operator:*"
    )
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: SegmentedScan, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.segments, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        sizes = np.int64(problem.segments), np.int64(problem.count)
        return (Step(launch, ("x", "offsets", "y", *sizes)),)

    def accesses(self, problem: SegmentedScan, config: Config) -> Counted:
        """Segments of one length: neighbouring threads read and write as far apart as that."""
        x, offsets, _ = problem.arrays
        length = max(1, blocks(problem.count, max(1, problem.segments)))
        made = apart(x.size, length, x.numpy.itemsize) + stored_apart(x.size)
        made += beside(2 * problem.segments, offsets.numpy.itemsize)
        guard = Accesses(divergent_warps=int(problem.segments % WARP != 0))
        return {self.kernel(): made + chain(x.size, length) + guard}


STRATEGY = Sequential()
