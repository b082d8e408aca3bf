"""The base of the GPU strategies of `record_mean`: one launch of one block."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.record_mean import RecordMean
from rooftile.strategies.contract.gpu import GpuStrategy, Step

_MOST = 2**31 - 4096
"""Values that an index of 32 bits reaches, with a block beyond the last one."""


class GpuRecordMean(GpuStrategy):
    """A GPU strategy of `record_mean`."""

    operation = "record_mean"

    def limits(self, problem: RecordMean) -> str | None:
        """More values than an index reaches."""
        return f"{problem.size} values, at most {_MOST}" if problem.size > _MOST else None

    def of_threads(self, problem: RecordMean, threads: int) -> tuple[Step, ...]:
        """One kernel, a block of ``threads`` threads."""
        launch = Launch(self.kernel(), (1, 1, 1), (threads, 1, 1), overlaps=True)
        arrays = "values", "record", "step", "new_record", "new_step"
        return (Step(launch, (*arrays, np.int32(problem.size), np.int32(problem.steps))),)
