"""`channels_tree`: input channels summed in parallel, joined by a tree.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 10.6 (the tree in shared memory), carried over to the sum over channels.
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    broadcasts,
    linear_loads,
    linear_stores,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import positions_of, real_share, result_stride
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, beyond_block, blocks


class ChannelsTree(GpuConv2d):
    """Threads of a block share an output's channels; sums are the same in every run."""

    name = "channels_tree"
    summary = "input channels summed in parallel, joined by a tree in shared memory"
    tunables = (
        Tunable("BLOCK_X", (32, 64, 128, 256), 64),
        Tunable("PARTS", (1, 2, 4, 8, 16), 8),
    )

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """No more parts than there are channels."""
        return {**super().defaults(problem), "PARTS": tile_of(problem.channels, 1, 8)}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Parts that are no power of two; too many threads."""
        if config["PARTS"] & (config["PARTS"] - 1):
            return f"PARTS is {config['PARTS']}, no power of two"
        return beyond_block(config["BLOCK_X"] * config["PARTS"])

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel, a column of threads a result."""
        results = math.prod(problem.output_shape)
        block = (config["BLOCK_X"], config["PARTS"], 1)
        launch = Launch(self.kernel(), (blocks(results, config["BLOCK_X"]), 1, 1), block)
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """A lane a result, whose taps are shared out over the block's rows of threads; each row
        reads the bias; a step of the tree reads two sums."""
        results, parts = math.prod(problem.output_shape), config["PARTS"]
        taps = (problem.reduction - 1) * positions_of(problem)
        found = linear_loads(
            results * taps,
            problem.output_size[1],
            stride=result_stride(problem),
            share=real_share(problem),
        )
        found += broadcasts(results / WARP * taps)
        found += broadcasts(results / WARP * parts)
        found += linear_stores(results)
        steps = parts.bit_length() - 1
        tree = 2 * results / WARP * positions_of(problem) * steps
        last = len(guard_1d(results, 1, config["BLOCK_X"])) * parts
        return {self.kernel(): found + Accesses(shared_reads=tree, divergent_warps=last)}


STRATEGY = ChannelsTree()
