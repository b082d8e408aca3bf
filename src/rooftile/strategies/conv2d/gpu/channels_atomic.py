"""`channels_atomic`: input channels summed in parallel, joined by atomics.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 10.7 (partial sums joined by atomics), carried over to the sum over channels.
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
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import finish_sums, real_share
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, blocks
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


STRATEGY = ChannelsAtomic()
