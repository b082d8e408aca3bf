"""`lane_rows`: the lanes of a warp are rows of the masks, in banks of their own. Source: Scherer,
Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures", ICANN 2010 (only
winners have gradients); PMPP, sections 6.1 (banks) and 10.8 (sums by block)."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d_weights_gradient.gpu._base import (
    PartialSums,
)

_LANES = _BANKS = 32
_MOST_SUMS = 128
"""Of a thread, in its registers."""
_MANY_IMAGES = 4096
_RESIDENT_WARPS = 32
"""Warps of a multiprocessor that hide each other's waits."""


class LaneRows(PartialSums):
    """Takes layers of which an image's channels and gradients fit shared memory."""

    name = "lane_rows"
    summary = "one lane a row of a mask, rows in banks of their own, gradients in shared memory"
    takes = features("activation:* padding pool:max stride")
    tunables = (Tunable("WARPS", (2, 4, 8, 16), 8), Tunable("SPLITS", (1, 2, 4), 1))

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        if problem.mask[0] > _LANES:
            return f"a mask has {problem.mask[0]} rows, a warp {_LANES} lanes"
        if (nbytes := _shared_bytes(problem)) > PORTABLE_SHARED_BYTES:
            return f"an image takes {nbytes} bytes of shared memory of {PORTABLE_SHARED_BYTES}"
        return self.invalid(problem, self.defaults(problem))

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """Few warps where there are blocks enough, as many as there may be where not; maps are
        split where images leave half of the GPU idle."""
        images, many = problem.images, self.machine.multiprocessors
        splits = min(4, problem.maps) if 2 * images <= many else 1
        warps = 4 if images >= _MANY_IMAGES else 16 if splits == 1 and images <= many else 8
        few = {"WARPS": warps, "SPLITS": splits}
        return {**few, "WARPS": 16} if self.invalid(problem, few) else few

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        maps = blocks(problem.maps, config["SPLITS"])
        sums = blocks(maps, config["WARPS"]) * (problem.mask[1] + 1)
        if sums > _MOST_SUMS:
            return f"{sums} sums of a thread, {_MOST_SUMS} at most: more WARPS"
        return None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        pitch, plane = _layout(problem)
        lie = {"GROUP_CHANNELS": _channels(problem), "PITCH": pitch, "PLANE": plane}
        return {**super().macros(problem, config), **lie}

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        rows = self.rows(problem, config)
        grid = (rows, blocks(problem.channels, _channels(problem)), config["SPLITS"])
        block = _LANES * config["WARPS"], 1, 1
        return Launch(self.kernel(), grid, block, overlaps=True, concurrent=True)

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        resident = max(1, _RESIDENT_WARPS // config["WARPS"])
        return min(problem.images, self.machine.multiprocessors * resident)


def _channels(problem: Conv2dWeightsGradient) -> int:
    """Channels whose masks' rows a warp has lanes for."""
    return min(problem.channels, _LANES // problem.mask[0])


def _layout(problem: Conv2dWeightsGradient) -> tuple[int, int]:
    """The pitch of rows and of planes with which the fewest lanes share a bank."""
    (above, left), channels = problem.padding, _channels(problem)
    return _spread(channels, problem.mask[0], problem.height + 2 * above, problem.width + 2 * left)


@lru_cache
def _spread(channels: int, rows: int, height: int, width: int) -> tuple[int, int]:
    def banks(lie: tuple[int, int]) -> tuple[int, int]:
        pitch, pad = lie
        plane = height * pitch + pad
        met = {(c * plane + p * pitch) % _BANKS for c, p in product(range(channels), range(rows))}
        return channels * rows - len(met), pitch

    pitch, pad = min(product(range(width, width + _BANKS), range(_BANKS)), key=banks)
    return pitch, height * pitch + pad


def _shared_bytes(problem: Conv2dWeightsGradient) -> int:
    """An image's channels with the zeros around them, and all gradients with their places."""
    pixels = _channels(problem) * _layout(problem)[1]
    return 4 * pixels + 8 * problem.arrays[1].size // problem.images


STRATEGY = LaneRows()
