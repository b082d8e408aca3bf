"""`lane_taps`: the lanes of a warp are the taps of the masks, an image in shared memory.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only the argmax has a gradient); PMPP, sections 10.8 (sums by block) and 16.3 (gradients
of a convolution).
"""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d_weights_gradient.gpu._base import (
    PartialSums,
)

_MOST_SUMS = 48
"""Sums of a thread that registers hold with their operands."""
_RESIDENT = 4
"""Blocks for each multiprocessor that hide each other's waits."""


class LaneTaps(PartialSums):
    """Takes layers of which a channel, with the zeros around it, fits shared memory."""

    name = "lane_taps"
    summary = "one lane a tap, an image in shared memory, argmax gradients alone after a max-pool"
    takes = features("activation:* padding pool:max stride")
    tunables = (Tunable("WARPS", (4, 8, 16), 8), Tunable("SPLITS", (1, 2, 4), 1))

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        if (nbytes := 4 * (_plane(problem) + 1)) > PORTABLE_SHARED_BYTES:
            return f"a channel takes {nbytes} bytes of shared memory of {PORTABLE_SHARED_BYTES}"
        if (sums := math.prod(problem.mask) // 32 + 1) > _MOST_SUMS:
            return f"a mask takes {sums} registers of each lane, of {_MOST_SUMS}"
        return self.unfit(problem)

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """Maps are split, and shared by more warps, where images do not fill the GPU."""
        wanted = self.machine.multiprocessors * 2 / problem.images
        groups = blocks(problem.maps, _group(problem))
        if problem.images <= self.machine.multiprocessors:
            made = {"WARPS": 16, "SPLITS": min(2, groups)}
        else:
            splits = next((s for s in (4, 2) if s <= wanted * 2 and s <= groups), 1)
            made = {"WARPS": 8, "SPLITS": splits}
        # Of many maps a warp has several.
        return {"WARPS": 16, "SPLITS": 4} if self.invalid(problem, made) else made

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        sums = _warp_jobs(problem, config) * _group(problem) * _lane_taps(problem, config)
        if sums > 2 * _MOST_SUMS:
            return f"{sums} sums of a thread, {2 * _MOST_SUMS} at most: more WARPS or SPLITS"
        return None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        return {
            **super().macros(problem, config),
            "TILE_CHANNELS": _tile_channels(problem, config),
            "MAP_GROUP": _group(problem),
            "PARTS": _parts(problem, config),
        }

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        tiles = blocks(problem.channels, _tile_channels(problem, config))
        grid = (self._blocks(problem, config), tiles, config["SPLITS"])
        block = 32 * config["WARPS"], 1, 1
        return Launch(self.kernel(), grid, block, overlaps=True, concurrent=True)

    def _blocks(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        most = self.machine.multiprocessors * _RESIDENT
        return min(problem.images, max(1, most // config["SPLITS"]))

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        return self._blocks(problem, config) * _parts(problem, config)


def _plane(problem: Conv2dWeightsGradient) -> int:
    """Elements of a channel with the zeros around it."""
    (above, left) = problem.padding
    return (problem.height + 2 * above) * (problem.width + 2 * left)


def _group(problem: Conv2dWeightsGradient) -> int:
    """Maps whose gradients stand in the same places, and that a warp takes together."""
    return 1 if problem.pool is not None else min(8, problem.maps)


def _tile_channels(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Channels of a block: as many as shared memory and a lane's registers hold."""
    held = (PORTABLE_SHARED_BYTES // 4 - 1) // _plane(problem)
    sums = _MOST_SUMS // (_group(problem) * _warp_jobs(problem, config))
    fitting = (32 * sums - 1) // math.prod(problem.mask)
    return max(1, min(problem.channels, held, fitting))


def _split_groups(problem: Conv2dWeightsGradient, config: Config) -> int:
    return blocks(blocks(problem.maps, _group(problem)), config["SPLITS"])


def _parts(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Parts of a map's gradients, so that every warp has some."""
    gradients = problem.arrays[1].size // (problem.images * problem.maps)
    return min(gradients, max(1, config["WARPS"] // _split_groups(problem, config)))


def _warp_jobs(problem: Conv2dWeightsGradient, config: Config) -> int:
    jobs = _split_groups(problem, config) * _parts(problem, config)
    return blocks(jobs, config["WARPS"])


def _lane_taps(problem: Conv2dWeightsGradient, config: Config) -> int:
    return _tile_channels(problem, config) * math.prod(problem.mask) // 32 + 1


STRATEGY = LaneTaps()
