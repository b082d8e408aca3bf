"""Input channels summed in parallel, joined by atomics and by a tree. Source: PMPP, section 10.7
(partial sums joined by atomics), carried over to the sum over channels; PMPP, section 10.6 (the
tree in shared memory), carried over to the sum over channels."""

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
from rooftile.strategies.conv2d.gpu._accesses import (
    finish_sums,
    positions_of,
    real_share,
    result_stride,
)
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, beyond_block, blocks
from rooftile.strategies.conv2d.gpu._slices import SlicedConv2d


class ChannelsAtomic(SlicedConv2d):
    """Slices of channels add to sums in memory; with one slice a plain sum in two steps more."""

    name = "channels_atomic"
    summary = "input channels summed in parallel, joined by atomics"
    apart = "bias, activation and pool"
    atomic = True
    summing = "accumulate"
    tunables = (
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("SLICE_CHANNELS", (1, 2, 4, 8, 16, 32), 4),
    )

    def image_floats(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """The sums."""
        return {"sums": problem.maps * math.prod(problem.conv_read)}

    def slice_steps(
        self, problem: Conv2d, config: Config, first: int, images: int
    ) -> tuple[Step, ...]:
        """Clear, accumulate, finish."""
        block = (config["THREADS"], 1, 1)
        sums = blocks(images * self.image_floats(problem, config)["sums"], config["THREADS"])
        results = blocks(images * math.prod(problem.output_shape[1:]), config["THREADS"])
        slices = min(blocks(problem.channels, config["SLICE_CHANNELS"]), MOST_BLOCKS)
        accumulate = Launch(self.kernel("accumulate"), (sums, slices, 1), block)
        return (
            Step(Launch(self.kernel("clear"), (sums, 1, 1), block), ("sums", images)),
            Step(accumulate, ("x", "weights", "sums", first, images)),
            Step(
                Launch(self.kernel("finish"), (results, 1, 1), block),
                ("sums", "bias", "out", first, images),
            ),
        )

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """A lane a sum; each slice of channels adds to it in memory."""
        sums = problem.batch * self.image_floats(problem, config)["sums"]
        taps = problem.reduction - 1
        slices = blocks(problem.channels, config["SLICE_CHANNELS"])
        share = real_share(problem, once=True)
        inputs = linear_loads(
            sums * taps, problem.conv_read[1], stride=problem.stride[1], share=share
        )
        weights = broadcasts(sums / WARP * taps)
        return {
            self.kernel("clear"): linear_stores(sums),
            self.kernel("accumulate"): inputs + weights + Accesses(atomics=sums * slices),
            self.kernel("finish"): finish_sums(problem),
        }


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
        if config["PARTS"] & (config["PARTS"] - 1):
            return f"PARTS is {config['PARTS']}, no power of two"
        return beyond_block(config["BLOCK_X"] * config["PARTS"])

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
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


STRATEGIES = (ChannelsAtomic(), ChannelsTree())
