"""`lane_columns`: the lanes of a warp are columns of outputs, a lane keeps masks' sums. Source:
Volkov, Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", SC08 (sums in registers); PMPP,
sections 8.4 (a window kept in registers) and 10.8 (sums by block)."""

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

_LANES = 32
_MOST_HELD = 160
"""Sums and pixels of a thread, in its registers."""
_RESIDENT_WARPS = 16
"""Warps of a multiprocessor, by their registers."""


class LaneColumns(PartialSums):
    """Takes gradients of all outputs; a mask's sums fit registers, and a channel shared memory."""

    name = "lane_columns"
    summary = "one lane a column of outputs, a mask's sums and pixels in its registers"
    takes = features("activation:* padding")
    tunables = (Tunable("WARPS", (4, 8), 4), Tunable("GROUP_MAPS", (1, 2, 4), 2))

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        if problem.pool is not None:
            return "it is for gradients of all outputs"
        return self.invalid(problem, {"WARPS": 4, "GROUP_MAPS": 1})

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """Two maps share a lane's pixels, where registers hold their sums."""
        most = {"WARPS": 4, "GROUP_MAPS": 2}
        return {"WARPS": 4, "GROUP_MAPS": 1} if self.invalid(problem, most) else most

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        taps = math.prod(problem.mask)
        if (held := config["GROUP_MAPS"] * (taps + 1) + taps) > _MOST_HELD:
            return f"{held} sums and pixels of a thread, {_MOST_HELD} at most"
        (above, _), joined = problem.padding, config["WARPS"] * _LANES * ((taps + 1) | 1)
        nbytes = 4 * ((problem.height + 2 * above) * _pitch(problem) + joined)
        if nbytes > PORTABLE_SHARED_BYTES:
            return f"{nbytes} bytes of shared memory of {PORTABLE_SHARED_BYTES}"
        return None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        held = {"PITCH": _pitch(problem), "PARTS": _parts(problem, config)}
        return {**super().macros(problem, config), **held}

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        jobs = _groups(problem, config) * _parts(problem, config)
        grid = (self._blocks(problem, config), problem.channels, blocks(jobs, config["WARPS"]))
        block = _LANES * config["WARPS"], 1, 1
        return Launch(self.kernel(), grid, block, overlaps=True, concurrent=True)

    def _blocks(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        beside = problem.channels * blocks(_groups(problem, config), config["WARPS"])
        most = self.machine.multiprocessors * _RESIDENT_WARPS // config["WARPS"]
        return min(problem.images, max(1, most // beside))

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        return self._blocks(problem, config) * _parts(problem, config)


def _pitch(problem: Conv2dWeightsGradient) -> int:
    """The pitch of a row of pixels with its zeros."""
    return problem.width + 2 * problem.padding[1]


def _groups(problem: Conv2dWeightsGradient, config: Config) -> int:
    return blocks(problem.maps, config["GROUP_MAPS"])


def _parts(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Parts of the rows, so that every warp has some."""
    return max(1, config["WARPS"] // _groups(problem, config))


STRATEGY = LaneColumns()
