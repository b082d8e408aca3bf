"""`mma_tf32`: transposed convolution of argmax gradients on tensor cores, in TF32. Source:
Dumoulin, Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 4 (transposed
convolution); NVIDIA, "Parallel Thread Execution ISA", on ``mma``."""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.cores import MmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.winner_places import ragged
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d_input_gradient.gpu.naive import GpuInputGradient, arguments_of

_SIDE = 4
"""Rows and columns of a window."""
_WINDOWS = 8
"""Adjacent windows in an instruction."""
_STEPS = 4
"""Instructions deep of a group of maps."""
_MOST_WIDE = 8
"""Columns of a mask, by the registers of its sums."""
_CHANNELS = 4


class MmaTf32(MmaStrategy, GpuInputGradient):
    """Takes argmax gradients of windows of 4 x 4, eight of them a row at most; sums in float32."""

    name = "mma_tf32"
    precision = "tf32"
    summary = "whole windows on tensor cores, gradients and weights in TF32"
    takes = features("before:relu padding pool:max")
    tunables = (
        Tunable("WARPS", (2, 4, 5, 7, 8, 10), 8),
        Tunable("BLOCKS", (1, 2, 3, 4), 2),
        Tunable("BAND", (1, 2, 4), 2),
    )

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        pool = problem.pool
        if pool is None or pool.window != (_SIDE, _SIDE) or pool.stride != (_SIDE, _SIDE):
            return f"it is for max-pools of {_SIDE} x {_SIDE} that do not overlap"
        if (wide := problem.mask[1]) > _MOST_WIDE:
            return f"a mask has {wide} columns, {_MOST_WIDE} at most"
        if (columns := problem.layer.output_size[1]) > _WINDOWS:
            return f"{columns} adjacent windows, {_WINDOWS} at most"
        return self._beyond(problem, {"BLOCKS": 1})

    def defaults(self, problem: Conv2dInputGradient) -> dict[str, int]:
        """As many blocks of a multiprocessor as there is shared memory for, two at most."""
        many = {"WARPS": 8, "BLOCKS": 2, "BAND": 2}
        return {"WARPS": 8, "BLOCKS": 1, "BAND": 4} if self._beyond(problem, many) else many

    def invalid(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        return ragged(problem) or self._beyond(problem, config)

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "CORES": "TF32"}

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        across = min(blocks(problem.batch, 2), self.machine.multiprocessors * config["BLOCKS"])
        grid = (across, blocks(problem.channels, _CHANNELS), 1)
        threads, shared = (32 * config["WARPS"], 1, 1), self._shared(problem)
        launch = Launch(self.kernel(), grid, threads, shared, overlaps=True)
        return (Step(launch, (*arguments_of(problem), problem.batch)),)

    def _beyond(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        shared, room = self._shared(problem), self.machine.shared_room(config["BLOCKS"])
        return f"{shared} bytes of shared memory, {room} for a block" if shared > room else None

    def _shared(self, problem: Conv2dInputGradient) -> int:
        """Bytes of the masks, and of two images' gradients, as they are given and multiplied."""
        steps = blocks(problem.maps, 2 * _STEPS) * _STEPS
        pairs = (_SIDE + problem.mask[1]) // 2
        masks = problem.mask[0] * steps * pairs * 32
        held = 2 * (problem.layer.output_size[0] + 1) * 2 * steps * _WINDOWS
        return 8 * (masks + held + 2 * math.prod(problem.layer.output_shape[1:]))


STRATEGY = MmaTf32()
