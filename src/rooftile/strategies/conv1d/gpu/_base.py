"""The base of the GPU strategies of `conv1d`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.common.grid import CONSTANT_BYTES, MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Fill, GpuStrategy, Step, Tunable

BLOCKS = Tunable("BLOCK", (64, 128, 256, 512, 1024), 256)
"""Threads of a block."""


class GpuConv1d(GpuStrategy):
    """A GPU strategy of `conv1d`."""

    operation = "conv1d"
    takes = features("boundary:interior,replicate,valid")
    wide_indices = True

    def macros(self, problem: Conv1d, config: Config) -> dict[str, int | str]:
        return {
            "MASK": problem.mask,
            "BEFORE": problem.before,
            "REPLICATE": int(problem.boundary == "replicate"),
            "INTERIOR": int(problem.boundary == "interior"),
            "CHANNELS": problem.channels,
            "MAPS": problem.maps,
            **config,
        }


class ConstantConv1d(GpuConv1d):
    """A strategy whose masks are in constant memory; those beyond 65,536 bytes go by slices of
    whole maps, a launch each."""

    tunables: ClassVar[tuple[Tunable, ...]] = (BLOCKS,)

    @abstractmethod
    def tile(self, problem: Conv1d, config: Config) -> int: ...

    def limits(self, problem: Conv1d) -> str | None:
        needed = 4 * problem.reduction
        if needed > CONSTANT_BYTES:
            return (
                f"the weights of one map take {needed:,} bytes (channels x mask x 4), "
                f"constant memory has {CONSTANT_BYTES:,}"
            )
        return self.invalid(problem, self.defaults(problem))

    def programs(self, problem: Conv1d, config: Config) -> int:
        """Slices of the maps."""
        return blocks(problem.maps, _slice_maps(problem))

    def macros(self, problem: Conv1d, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "SLICE_MAPS": _slice_maps(problem)}

    def packed(
        self, problem: Conv1d, parameters: Mapping[str, AnyArray], config: Config
    ) -> dict[str, AnyArray]:
        masks = parameters["weights"].reshape(problem.maps, -1)
        spare = self.programs(problem, config) * _slice_maps(problem) - problem.maps
        return {"weights": np.pad(masks, ((0, spare), (0, 0)))}

    def constants(self, problem: Conv1d, config: Config) -> dict[str, Fill]:
        return {"taps": Fill("weights", _slice_maps(problem) * problem.reduction)}

    def steps(self, problem: Conv1d, config: Config) -> tuple[Step, ...]:
        maps = _slice_maps(problem)
        grid = (
            blocks(problem.outputs, self.tile(problem, config)),
            min(problem.batch * maps, MOST_BLOCKS),
            1,
        )
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1), constants=("taps",))
        return tuple(
            Step(launch, ("x", "out", *numbers(problem), number * maps), number)
            for number in range(self.programs(problem, config))
        )


def numbers(problem: Conv1d) -> tuple[np.int64, np.int64, int]:
    """Length, outputs and images as the kernels take them."""
    return np.int64(problem.length), np.int64(problem.outputs), problem.batch


def _slice_maps(problem: Conv1d) -> int:
    """Maps of a slice: as many as fit, shared out evenly."""
    most = max(1, CONSTANT_BYTES // (4 * problem.reduction))
    return blocks(problem.maps, blocks(problem.maps, most))
