"""The base of rungs whose weights are in constant memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.grid import CONSTANT_BYTES
from rooftile.strategies.contract.gpu import Config, Fill, Step
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks


class ConstantWeights(GpuConv2d):
    """Weights beyond 65,536 bytes go by slices of whole maps, a launch each."""

    def limits(self, problem: Conv2d) -> str | None:
        needed = _map_bytes(problem)
        if needed > CONSTANT_BYTES:
            return (
                f"the weights of one map take {needed:,} bytes (channels x mask x 4), "
                f"constant memory has {CONSTANT_BYTES:,}"
            )
        return super().limits(problem)

    def programs(self, problem: Conv2d, config: Config) -> int:
        """Slices of the maps."""
        return blocks(problem.maps, _slice_maps(problem))

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "SLICE_MAPS": _slice_maps(problem)}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        spare = self.programs(problem, config) * _slice_maps(problem) - problem.maps
        return np.pad(weights, ((0, spare), (0, 0), (0, 0), (0, 0)))

    def constants(self, problem: Conv2d, config: Config) -> dict[str, Fill]:
        return {"taps": Fill("weights", _slice_maps(problem) * _map_bytes(problem) // 4)}

    def slices(self, problem: Conv2d, config: Config, whole: Launch) -> tuple[Step, ...]:
        """A launch a slice, over its maps alone; ``whole`` is a launch over all of them."""
        maps = _slice_maps(problem)
        grid = (*whole.grid[:2], min(problem.batch * maps, MOST_BLOCKS))
        launch = replace(whole, grid=grid, constants=("taps",))
        return tuple(
            Step(launch, ("x", "bias", "out", problem.batch, number * maps), number)
            for number in range(self.programs(problem, config))
        )


def _map_bytes(problem: Conv2d) -> int:
    return 4 * (problem.reduction - 1)


def _slice_maps(problem: Conv2d) -> int:
    """Maps of a slice: as many as fit, shared out evenly."""
    most = max(1, CONSTANT_BYTES // _map_bytes(problem))
    return blocks(problem.maps, blocks(problem.maps, most))
