"""`naive`: one thread adds all values.

Source: Harris, "Optimizing Parallel Reduction in CUDA" (2007), what it starts from.
"""

from __future__ import annotations

from rooftile.ops.patterns.record_mean import RecordMean
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.record_mean.gpu._base import GpuRecordMean


class Naive(GpuRecordMean):
    """A thread waits for each value before it asks for the next ones."""

    name = "naive"
    summary = "one thread adds all values"

    def steps(self, problem: RecordMean, config: Config) -> tuple[Step, ...]:
        """One kernel of one thread."""
        return self.of_threads(problem, 1)


STRATEGY = Naive()
