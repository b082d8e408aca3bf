"""Rungs on Hopper's warpgroups and bulk copy engine: an implicit matrix product.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and tensor copies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.warpgroups import elements, product
from rooftile.strategies.conv2d.ends import beyond_basics
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks
from rooftile.strategies.gpu import Config, Step, Tunable

_ROWS = 16
_MOST_STAGES = 8
_PACK_PIXELS, PACK_THREADS = 32, 128
_MOST_SUMS = 192
"""How many registers a thread has for sums."""
_MOST_BOX = 256
"""Rows that one copy of the engine brings."""
_LEAST_MAPS = 32
"""From so many on, it comes before all rungs that run on any GPU."""


@dataclass(frozen=True)
class _Layout:
    """Where a problem's arrays lie, in device memory and in a block's shared memory."""

    problem: Conv2d
    cores: Cores
    numbers: int
    """How many numbers of the cores' type stand for one value."""
    columns: int
    maps: int
    """How many maps a tile has."""
    patches: int
    shared_room: int
    """Bytes of shared memory that a block may have."""

    @property
    def chunk(self) -> int:
        """Channels in 128 bytes: as wide as the swizzle is."""
        return 128 // self.cores.bytes

    @property
    def image(self) -> tuple[int, int, int, int]:
        """[numbers x images][height][width][channels], in whole pieces of 16 bytes."""
        problem, piece = self.problem, 16 // self.cores.bytes
        images, channels = self.numbers * problem.batch, blocks(problem.channels, piece) * piece
        return (images, problem.height, problem.width, channels)

    @property
    def weights(self) -> tuple[int, int, int, int, int, int]:
        """[map tiles][chunks][taps][numbers][maps of a tile][channels of a chunk]"""
        problem, chunk = self.problem, self.chunk
        tiles, chunks = blocks(problem.maps, self.maps), blocks(problem.channels, chunk)
        return (tiles, chunks, math.prod(problem.mask), self.numbers, self.maps, chunk)

    @property
    def patch(self) -> tuple[int, int]:
        """Rows and columns of inputs that a tile's pixels read."""
        rows, columns = self.problem.mask
        return _ROWS + rows - 1, self.columns + columns - 1

    @property
    def patch_bytes(self) -> int:
        """Bytes of a patch in one of its numbers, up to the next boundary of the swizzle's
        pattern."""
        return blocks(math.prod(self.patch) * 128, 1024) * 1024

    @property
    def stages(self) -> int:
        """How many taps' weights fit beside the patches; barriers take 16 bytes each."""
        room = self.shared_room - self.patches * (self.numbers * self.patch_bytes + 16)
        return min(_MOST_STAGES, room // (self.numbers * self.maps * 128 + 16))

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory that a block takes."""
        patches = self.patches * (self.numbers * self.patch_bytes + 16)
        return patches + self.stages * (self.numbers * self.maps * 128 + 16)

    @property
    def tiles(self) -> int:
        """How many tiles an image has."""
        rows, columns = self.problem.conv_span
        return blocks(rows, _ROWS) * blocks(columns, self.columns) * self.weights[0]


class ImplicitGemm(GpuConv2d):
    """Takes no strides, and no pool or one of 2x2."""

    devices = ("cuda",)
    summing = "conv2d"
    architectures = ("sm_90",)
    tensor_cores = True
    source = "implicit_gemm"
    numbers = 1
    """How many numbers of the cores' type stand for one value."""
    sums = 1
    """How many kinds of sums a thread holds for a result."""
    least_channels = 16
    """From so many on, it comes before all rungs that run on any GPU."""
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("TILE_COLUMNS", (8, 16), 16),
        Tunable("TILE_MAPS", (64, 128, 256), 128),
        Tunable("PATCHES", (1, 2), 2),
    )

    def why_not(self, problem: Conv2d) -> str | None:
        """Strides, other pools and ghost cells, masks whose patches leave no room."""
        pool = problem.pool
        if problem.stride != (1, 1):
            return "a tap's pixels lie beside each other: no strides"
        if pool is not None and (pool.window, pool.stride) != ((2, 2), (2, 2)):
            return "it pools 2x2 or not at all"
        return beyond_basics(problem) or self.invalid(problem, self.defaults(problem))

    def why_slow(self, problem: Conv2d) -> str | None:
        """Few channels or maps leave the cores' tiles empty."""
        if problem.channels < self.least_channels or problem.maps < _LEAST_MAPS:
            return f"it pays from {self.least_channels} channels and {_LEAST_MAPS} maps"
        return None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Tiles of half as many maps, where the problem has no more."""
        config = {tunable.name: tunable.default for tunable in self.tunables}
        config["TILE_MAPS"] = 64 if problem.maps <= 64 else 128
        return config if self.invalid(problem, config) is None else {**config, "PATCHES": 1}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Registers for the sums, a copy for a tap's weights, two stages beside the patches."""
        numbers, maps = self.numbers, config["TILE_MAPS"]
        sums = self.sums * config["TILE_COLUMNS"] * maps // 16
        if sums > _MOST_SUMS:
            return f"{sums} sums a thread, where registers hold {_MOST_SUMS}"
        if numbers * maps > _MOST_BOX:
            return f"{numbers * maps} rows of weights a tap, where one copy brings {_MOST_BOX}"
        if max(problem.mask) + _ROWS > _MOST_BOX or self._layout(problem, config).stages < 2:
            return f"patches of a mask of {problem.mask} leave no room for the weights"
        return None

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Sizes, tunables, the cores' type, and what shared memory holds."""
        layout, cores = self._layout(problem, config), self._cores
        return {
            **super().macros(problem, config),
            "CORES": cores.word,
            "ELEMENT_BYTES": cores.bytes,
            "NUMBERS": self.numbers,
            "PACK_PIXELS": _PACK_PIXELS,
            "PACK_THREADS": PACK_THREADS,
            "PADDED_CHANNELS": layout.image[-1],
            "PATCH_ROWS": layout.patch[0],
            "PATCH_COLUMNS": layout.patch[1],
            "PATCH_BYTES": layout.patch_bytes,
            "STAGES": layout.stages,
            "TILES": layout.tiles,
            "WEIGHTS": math.prod(layout.weights) // self.numbers,
            "WGMMA(sum, a, b, more)": product(
                cores, elements("(sum)", layout.maps // 2), ["a"], "b", "more"
            ),
        }

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """The packed image, and the weights in the cores' type."""
        layout, size = self._layout(problem, config), self._cores.bytes
        return {
            "packed": math.prod(layout.image) * size // 4,
            "stages": math.prod(layout.weights) * size // 4,
        }

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """The weights as `_Layout.weights` says, but unsplit, with zeros up to whole tiles and
        chunks."""
        tiles, chunks, taps, _, maps, chunk = self._layout(problem, config).weights
        padded = np.zeros((tiles * maps, chunks * chunk, taps), weights.dtype)
        padded[: problem.maps, : problem.channels] = weights.reshape(*weights.shape[:2], taps)
        return padded.reshape(tiles, maps, chunks, chunk, taps).transpose(0, 2, 4, 1, 3)

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """The weights in the cores' type."""
        count = math.prod(self._layout(problem, config).weights) // self.numbers
        launch = Launch("pack_weights", (blocks(count, PACK_THREADS), 1, 1), (PACK_THREADS, 1, 1))
        return (Step(launch, ("weights", "stages", count)),)

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """Two kernels pack the image and multiply."""
        pack, multiply, maps = self._launches(problem, config)
        return (
            Step(pack, ("x", "packed", problem.batch)),
            Step(multiply, (*maps, "bias", "out", problem.batch)),
        )

    def _launches(
        self, problem: Conv2d, config: Config
    ) -> tuple[Launch, Launch, tuple[TensorMap, TensorMap]]:
        """The launches of both steps, and the tensor maps of the packed image and weights."""
        layout, cores, images = self._layout(problem, config), self._cores, problem.batch
        runs = blocks(problem.height * problem.width, _PACK_PIXELS)
        grid = (runs, layout.weights[1], min(images, MOST_BLOCKS))
        rows, chunk = math.prod(layout.weights[:-1]), layout.chunk
        patches = TensorMap("packed", layout.image, (1, *layout.patch, chunk), cores.bytes)
        stages = TensorMap(
            "stages", (rows, chunk), (self.numbers * layout.maps, chunk), cores.bytes
        )
        persistent = (min(images * layout.tiles, self.machine.multiprocessors), 1, 1)
        multiply = Launch("conv2d", persistent, (384, 1, 1), layout.shared_bytes)
        return Launch("pack_image", grid, (PACK_THREADS, 1, 1)), multiply, (patches, stages)

    @property
    def _cores(self) -> Cores:
        return CORES["fp16" if self.numbers == 2 else self.precision]

    def _layout(self, problem: Conv2d, config: Config) -> _Layout:
        columns, maps, patches = (config[tunable.name] for tunable in self.tunables)
        room = self.machine.shared_room(1)
        return _Layout(problem, self._cores, self.numbers, columns, maps, patches, room)
