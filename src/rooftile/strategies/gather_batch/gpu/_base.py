"""The base of the GPU strategies of `gather_batch`: the macros of the problem."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.layers.gather_batch import GatherBatch
from rooftile.strategies.contract.gpu import Config, GpuStrategy

ARGUMENTS = (
    *("dataset", "targets", "order", "variation", "step"),
    *("places", "shares", "scales", "x", "chosen"),
)
"""The arrays, in the order of the kernels' arguments."""


class GpuGatherBatch(GpuStrategy):
    """A GPU strategy of `gather_batch`; takes every problem."""

    operation = "gather_batch"
    takes = features("floats")
    wide_indices = True

    def macros(self, problem: GatherBatch, config: Config) -> dict[str, int | str]:
        return {
            "CHANNELS": problem.channels,
            "HEIGHT": problem.height,
            "WIDTH": problem.width,
            "OLD_HEIGHT": problem.old_height,
            "OLD_WIDTH": problem.old_width,
            "BATCH": problem.whole,
            "SHIFT": problem.shift,
            "FLOATS": int(problem.floats),
            "WORDS": problem.target_words,
            **config,
        }
