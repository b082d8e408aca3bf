"""`tree`: the threads of a block add values, and join their sums in a tree.

Source: Harris, "Optimizing Parallel Reduction in CUDA" (2007).
"""

from __future__ import annotations

from rooftile.ops.patterns.record_mean import RecordMean
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.record_mean.gpu._base import GpuRecordMean


class Tree(GpuRecordMean):
    """The order of additions is fixed, so that every run gives the same bits."""

    name = "tree"
    summary = "the threads of a block add values, and join their sums in a tree"
    tunables = (Tunable("THREADS", (64, 128, 256, 512, 1024), 256),)

    def steps(self, problem: RecordMean, config: Config) -> tuple[Step, ...]:
        """One kernel of one block."""
        return self.of_threads(problem, config["THREADS"])


STRATEGY = Tree()
