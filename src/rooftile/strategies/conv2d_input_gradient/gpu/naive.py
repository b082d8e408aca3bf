"""A thread an element of the image, which looks for the gradients that reach it.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.5; Scherer, Müller, Behnke,
"Evaluation of Pooling Operations in Convolutional Architectures", ICANN 2010 (only winners have
gradients); PMPP, sections 16.3 (gradients of a convolution) and 18.3 (gather, not scatter).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.convolution_gradients import gradient_macros
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import MOST_BLOCKS, PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable


class GpuInputGradient(GpuStrategy):
    """A GPU strategy of `conv2d_input_gradient`; takes every problem unless it says otherwise."""

    operation = "conv2d_input_gradient"
    takes = features("padding pool:max")
    stores: ClassVar[Mapping[str, str]] = {"WHERE_NARROW": "where:uint8"}

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        before = {"BEFORE": ACTIVATION_CODES[problem.before]}
        return {**gradient_macros(problem.layer), **before, **config}


def arguments_of(problem: Conv2dInputGradient) -> tuple[str, ...]:
    """The names of dy, where behind a pool, x behind an activation, the weights and dx."""
    return tuple(array.name for array in problem.arrays)


class Naive(GpuInputGradient):
    """Nobody writes where another writes: sums have the same order in every run."""

    name = "naive"
    summary = "one thread a pixel of a channel, everything from global memory"
    takes = features("before:* padding pool:max stride")
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.arrays[-1].size, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*arguments_of(problem), problem.batch)),)


_CHANNELS = 4
"""Channels of a thread: one load brings a tap's weights for all of them."""
_LEAST_BLOCK = 64


class Gathered(GpuInputGradient):
    """Takes layers of which a map's gradients and weights fit shared memory."""

    name = "gathered"
    summary = "a thread gathers four channels of a pixel, gradients and weights in shared memory"
    takes = features("before:* padding pool:max stride")
    tunables = (Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),)

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        if (nbytes := _map_bytes(problem)) > PORTABLE_SHARED_BYTES:
            return f"a map takes {nbytes} bytes of shared memory of {PORTABLE_SHARED_BYTES}"
        if problem.channels > _CHANNELS * MOST_BLOCKS:
            return f"{problem.channels} channels, {_CHANNELS * MOST_BLOCKS} at most"
        return None

    def defaults(self, problem: Conv2dInputGradient) -> dict[str, int]:
        """Few blocks that share an image's pixels evenly: each fetches all gradients."""
        most, pixels = self.machine.block_threads, problem.height * problem.width
        across = max(blocks(pixels, most), self.machine.multiprocessors // problem.batch)
        return {"BLOCK": max(_LEAST_BLOCK, 32 * blocks(pixels, 32 * across))}

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        held = PORTABLE_SHARED_BYTES // _map_bytes(problem)
        return {**super().macros(problem, config), "TILE_MAPS": min(problem.maps, held)}

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        across = blocks(problem.height * problem.width, config["BLOCK"])
        grid = (problem.batch * across, blocks(problem.channels, _CHANNELS), 1)
        launch = Launch(
            self.kernel(), grid, (config["BLOCK"], 1, 1), overlaps=True, concurrent=True
        )
        return (Step(launch, arguments_of(problem)),)


def _map_bytes(problem: Conv2dInputGradient) -> int:
    """Shared memory for a map's gradients, their places, and its weights for four channels."""
    gradients = problem.arrays[0].size // (problem.batch * problem.maps)
    return 4 * (2 * blocks(gradients, 4) * 4 + _CHANNELS * math.prod(problem.mask))


STRATEGIES = (Naive(), Gathered())
