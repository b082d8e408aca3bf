"""Rung 8, `channels_atomic`: input channels summed in parallel, joined by atomics.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 10.7 (partial sums joined by atomics), carried over to the sum over channels.
"""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu._sizes import slice_images, slices
from rooftile.strategies.gpu import Config, Step, Tunable


class ChannelsAtomic(GpuConv2d):
    """Slices of channels add to sums in memory; with one slice a plain sum in two steps more."""

    name = "channels_atomic"
    order = 8
    summary = "input channels summed in parallel, joined by atomics"
    apart = "bias, activation and pool"
    atomic = True
    tunables = (
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("SLICE_CHANNELS", (1, 2, 4, 8, 16, 32), 4),
    )

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """The sums of a slice of images."""
        sums = _sums(problem)
        return {"sums": slice_images(problem.batch, sums) * sums}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """Clear, accumulate, finish: a set a slice of images."""
        images = slice_images(problem.batch, _sums(problem))
        return tuple(
            step
            for first, count in slices(problem.batch, images)
            for step in _slice_steps(problem, config, first, count)
        )


STRATEGY = ChannelsAtomic()


def _sums(problem: Conv2d) -> int:
    """Sums of one image."""
    return problem.maps * math.prod(problem.conv_read)


def _slice_steps(problem: Conv2d, config: Config, first: int, images: int) -> tuple[Step, ...]:
    block = (config["THREADS"], 1, 1)
    sums = blocks(images * _sums(problem), config["THREADS"])
    results = blocks(images * math.prod(problem.output_shape[1:]), config["THREADS"])
    parts = min(blocks(problem.channels, config["SLICE_CHANNELS"]), MOST_BLOCKS)
    return (
        Step(Launch("clear", (sums, 1, 1), block), ("sums", images)),
        Step(
            Launch("accumulate", (sums, parts, 1), block), ("x", "weights", "sums", first, images)
        ),
        Step(Launch("finish", (results, 1, 1), block), ("sums", "bias", "out", first, images)),
    )
