"""Rungs that read a network's images stored in float16 at another precision: for training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.folded_pool import (
    GROUP_MAPS,
    groups_of,
    weight_bytes,
)
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded import NarrowFolded

_MOST_BLOCKS = 4
_TWO_BANDS = 1000
"""Blocks of two bands from which on a block may have two: 1,024 images of lenet-conv1 took 27 us on
an H100 with one, and take 23."""
_SURE = 2.0**4
"""Least sum of scaled products for each of them to be sure: a small weight loses 2^-25, a pixel is
below 2^16, and their product is a quarter of TF32's unit."""


class Tf32InFloat16(NarrowFolded):
    """TF32 by float16's instructions: x is stored in float16, and weights are scaled to its
    range."""

    precision = "tf32"
    narrow = "fp16"
    requires = features("storage:x:float16")

    @property
    def cores(self) -> Cores:
        return CORES["fp16"]

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """The 16-bit defaults; scales take registers, and so fewer blocks fit, and are enough."""
        config = super().defaults(problem)
        config["LEAST_BLOCKS"] = min(_MOST_BLOCKS, config["LEAST_BLOCKS"])
        two = {**config, "BLOCK_BANDS": 2}
        fewer = config["BLOCK_BANDS"] == 1 and self._grid(problem, two) >= _TWO_BANDS
        return two if fewer else config

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        least = math.prod((problem.channels, *problem.mask)) * _SURE
        sure = {"LEAST_RESULT": f"{least.hex()}f"}
        return {**super().macros(problem, config), **sure, "SCALED": 1}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        folded = super().pack(problem, weights, config)
        return np.concatenate([folded.ravel(), weights.ravel()])

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        given = math.prod(problem.parameter_shapes["weights"])
        scales = 2 * GROUP_MAPS * groups_of(problem)
        return {self.prepared: weight_bytes(problem) // 4 + scales + given}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        grid, threads = (groups_of(problem), 1, 1), (32 * GROUP_MAPS, 1, 1)
        arguments: tuple[Any, ...] = ("weights", self.prepared)
        return (
            Step(Launch(self.kernel("scale_weights"), grid, threads, overlaps=True), arguments),
        )
