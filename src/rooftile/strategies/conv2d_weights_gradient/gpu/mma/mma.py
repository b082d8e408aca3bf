"""Rungs on tensor cores by ``mma.sync``, for GPUs of compute capability 8.0 and later. Source:
Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures", ICANN
2010 (only the argmax has a gradient); NVIDIA, "Parallel Thread Execution ISA", on ``mma``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.cores import CORES, MmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.storage import is_narrow, item_bytes
from rooftile.strategies.common.winner_places import ragged
from rooftile.strategies.contract.gpu import Config, Tunable, family
from rooftile.strategies.conv2d_weights_gradient.gpu._base import (
    GpuWeightsGradient,
    PartialSums,
    given_pitch,
)

_CELL_COLUMNS = 2
"""Of a cell, whose positions are rows of a product."""
_MOST_POSITIONS = 16
"""Of a window, by the bits that tell its argmax."""
_MOST_SUMS = 128
"""Sums of a thread in its registers, which hold some 64 other numbers."""
_OTHERS = 64
_LEAST = {"WARPS": 4, "ROLES": 1, "TILES": 1, "BLOCKS": 1, "DEEP": 1}
"""The config with the least registers and shared memory."""
_LINE = 16
"""Bytes on whose multiples what is copied begins."""


class Mma(MmaStrategy, PartialSums):
    """Takes argmax gradients of windows with an even number of columns that do not overlap."""

    name = "mma_{precision}"
    mends = True
    summary = "argmax gradients by cells on tensor cores, gradients and pixels in {numbers}"
    stores: ClassVar[Mapping[str, str]] = {
        **GpuWeightsGradient.stores,
        "X_NARROW": "x:narrow",
        "DY_NARROW": "dy:narrow",
    }
    tunables = (
        Tunable("WARPS", (4, 8, 16), 8),
        Tunable("ROLES", (1, 2, 4), 1),
        Tunable("TILES", (1, 2, 4), 1),
        Tunable("BLOCKS", (1, 2, 3), 1),
        Tunable("DEEP", (1, 2, 4), 1),
    )

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        pool = problem.pool
        if pool is None or pool.stride != pool.window:
            return "it is for max-pools whose windows do not overlap"
        if pool.window[1] % _CELL_COLUMNS:
            return f"windows of {pool.window} are no whole cells of {_CELL_COLUMNS} columns"
        if math.prod(pool.window) > _MOST_POSITIONS:
            return f"a window has {math.prod(pool.window)} positions, {_MOST_POSITIONS} at most"
        return self.invalid(problem, _LEAST)

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """All channels and maps of an image in a block, as far as registers and shared memory go;
        two blocks of a multiprocessor, or one large one."""
        roles = next(n for n in (4, 2, 1) if n <= problem.channels)
        for tiles in (4, 2, 1):
            if tiles > 1 and problem.maps <= tiles // 2 * _tile_maps(problem):
                continue
            shared_out = {"ROLES": roles, "TILES": tiles, "DEEP": self._deep(problem)}
            for many, warps in ((2, 8), (1, 16), (1, 8), (1, 4)):
                config = {"WARPS": warps, "BLOCKS": many, **shared_out}
                if self.invalid(problem, config) is None:
                    return config
        return _LEAST

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        if is_narrow(problem, "x") and problem.height * problem.width % 2:
            return (
                f"images of {problem.height} x {problem.width} numbers of 16 bits end within a word"
            )
        if reason := ragged(problem):
            return reason
        if config["WARPS"] % (beside := config["ROLES"] * config["TILES"]):
            return f"{config['WARPS']} warps share out {beside} channels and tiles"
        sums = 4 * blocks(_offsets(problem), 8)
        if sums > _MOST_SUMS:
            return f"{sums} sums of a thread, {_MOST_SUMS} at most"
        threads = 32 * config["WARPS"] * config["BLOCKS"]
        if threads * (sums + _OTHERS) > self.machine.registers:
            return f"{threads} threads of {sums} sums each are beyond the registers"
        shared, room = self._shared(problem, config, 1), self._room(config)
        return f"{shared} bytes of shared memory, {room} for a block" if shared > room else None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        rows, pitch = self._tile(problem, config)
        return {
            **super().macros(problem, config),
            "TILE_ROWS": rows,
            "PITCH": pitch,
            "STAGES": self._stages(problem, config),
            "STAGE_BYTES": _stage_bytes(problem, config),
            "PIXEL_BYTES": _pixel_bytes(problem, config),
            "GIVEN_PITCH": given_pitch(problem),
            "CELL_ROWS": _cell_rows(problem),
            "CORES": CORES[self.precision].word,
        }

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        grid = (self.rows(problem, config), *_beside(problem, config))
        shared = self._shared(problem, config, self._stages(problem, config))
        block = 32 * config["WARPS"], 1, 1
        return Launch(self.kernel(), grid, block, shared, overlaps=True)

    def _deep(self, problem: Conv2dWeightsGradient) -> int:
        """Rows of words of a step: four, where none is left over."""
        half = blocks(problem.layer.output_size[0], CORES[self.precision].depth // 8)
        return 2 if half % 4 else 4

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        resident = self.machine.multiprocessors * config["BLOCKS"]
        return min(problem.images, max(1, resident // math.prod(_beside(problem, config))))

    def _tile(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[int, int]:
        """Rows and pitch of a channel's pixels, which whole steps of windows meet."""
        assert problem.pool is not None
        rows, columns = problem.layer.output_size
        down, across = problem.pool.window
        half = blocks(rows, CORES[self.precision].depth // 8)
        deep = blocks(half, config["DEEP"]) * config["DEEP"]
        wide = blocks(columns, 8) * 8 * across + problem.mask[1] - 1
        return deep * down + problem.mask[0] - 1, blocks(wide, 4) * 4

    def _room(self, config: Config) -> int:
        """Bytes of shared memory that a block may have."""
        return self.machine.shared_room(config["BLOCKS"])

    def _stages(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Stages of gradients: two, where they fit, so that the next image's are on their way."""
        return 2 if self._shared(problem, config, 2) <= self._room(config) else 1

    def _shared(self, problem: Conv2dWeightsGradient, config: Config, stages: int) -> int:
        """Bytes of what is given and of pixels as they are multiplied; or of a tile of each warp's
        sums, to be joined."""
        given = stages * _stage_bytes(problem, config) + _pixel_bytes(problem, config)
        pixels = config["ROLES"] * math.prod(self._tile(problem, config))
        joined = config["WARPS"] * 16 * 8 * blocks(_offsets(problem), 8)
        return max(given + 4 * pixels, 4 * joined)


def _cell_rows(problem: Conv2dWeightsGradient) -> int:
    """Rows of a cell: few maps leave room for more positions in a product."""
    assert problem.pool is not None
    return 2 if problem.maps <= 4 and problem.pool.window[0] % 2 == 0 else 1


def _tile_maps(problem: Conv2dWeightsGradient) -> int:
    """Maps of a product."""
    return 16 // (_cell_rows(problem) * _CELL_COLUMNS)


def _stage_bytes(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Bytes of an image's gradients and places."""
    maps = config["TILES"] * _tile_maps(problem)
    gradient, place = item_bytes(problem, "dy"), item_bytes(problem, "where")
    return blocks(maps * given_pitch(problem) * (gradient + place), _LINE) * _LINE


def _pixel_bytes(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Bytes of an image's pixels as they are given."""
    count = config["ROLES"] * problem.height * problem.width
    return blocks(count * item_bytes(problem, "x"), _LINE) * _LINE


def _offsets(problem: Conv2dWeightsGradient) -> int:
    """Pixels from a cell's corner on that its masks meet."""
    high, wide = problem.mask
    return (high + _cell_rows(problem) - 1) * (wide + _CELL_COLUMNS - 1)


def _beside(problem: Conv2dWeightsGradient, config: Config) -> tuple[int, int]:
    """Blocks that share out an image: by channels, and by maps."""
    maps = config["TILES"] * _tile_maps(problem)
    return blocks(problem.channels, config["ROLES"]), blocks(problem.maps, maps)


class MmaTf32(Mma):
    """Gradients and pixels rounded to TF32, sums in float32."""

    name = "mma_tf32"
    stores: ClassVar[Mapping[str, str]] = {**GpuWeightsGradient.stores, "X_NARROW": "x:narrow"}
    precision = "tf32"
    narrow = "fp16"
    summary = "argmax gradients by cells on tensor cores, gradients and pixels in TF32"


STRATEGIES = (*family(Mma(), "fp16", "bf16"), MmaTf32())
