"""Rungs on tensor cores by ``mma.sync``, for GPUs of compute capability 8.0 and later.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only winners have gradients); NVIDIA, "Parallel Thread Execution ISA", on ``mma``.
"""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.conv2d_weights_gradient.gpu._base import GpuWeightsGradient, inputs_of
from rooftile.strategies.gpu import Config, Step, Tunable

_CELL_SIDE = 2
"""Rows and columns of a cell, whose positions are rows of a product."""
_TILE_MAPS = 4
"""Maps of a product."""
_MOST_POSITIONS = 16
"""Of a window, by the bits that say which one won."""
_MOST_SUMS = 128
"""Of a thread, in its registers; beside them it has some 64 others."""
_OTHERS = 64
_LEAST = {"WARPS": 4, "ROLES": 1, "TILES": 1, "BLOCKS": 1}
"""What takes the least registers and shared memory."""
_FINISH = 16
"""Rows of threads that share out what `finish` joins."""


class Mma(GpuWeightsGradient):
    """Takes winners of windows with even sides that do not overlap."""

    devices = ("cuda",)
    least_architecture = 80
    tensor_cores = True
    source = "mma"
    pays_from = 256
    """Images from which on it is faster than rungs 3 to 6."""
    tunables = (
        Tunable("WARPS", (4, 8, 16), 8),
        Tunable("ROLES", (1, 2, 4), 1),
        Tunable("TILES", (1, 2, 4), 1),
        Tunable("BLOCKS", (1, 2, 3), 1),
    )

    def why_not(self, problem: Conv2dWeightsGradient) -> str | None:
        """Windows that overlap, or have odd sides or many positions; strides; large masks; images
        beyond shared memory."""
        pool = problem.pool
        if pool is None or pool.stride != pool.window:
            return "it is for max-pools whose windows do not overlap"
        if any(side % _CELL_SIDE for side in pool.window):
            return f"windows of {pool.window} are no whole cells of {_CELL_SIDE} x {_CELL_SIDE}"
        if math.prod(pool.window) > _MOST_POSITIONS:
            return f"a window has {math.prod(pool.window)} positions, {_MOST_POSITIONS} at most"
        if problem.stride != (1, 1):
            return f"pixels of neighbouring outputs lie {problem.stride} apart"
        return self.invalid(problem, _LEAST)

    def why_slow(self, problem: Conv2dWeightsGradient) -> str | None:
        """Few images."""
        if problem.images < self.pays_from:
            return f"it pays from {self.pays_from} images on"
        return None

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """All channels and maps of an image in a block, as far as registers and shared memory go;
        two blocks of a multiprocessor, or one large one."""
        roles = next(n for n in (4, 2, 1) if n <= problem.channels)
        for tiles in (4, 2, 1):
            if tiles > 1 and problem.maps <= tiles // 2 * _TILE_MAPS:
                continue
            for many, warps in ((2, 4 if tiles > 1 else 8), (1, 16), (1, 8), (1, 4)):
                config = {"WARPS": warps, "ROLES": roles, "TILES": tiles, "BLOCKS": many}
                if self.invalid(problem, config) is None:
                    return config
        return _LEAST

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        """More registers or shared memory than a multiprocessor has."""
        sums = 4 * config["TILES"] * blocks(_offsets(problem), 8)
        if sums > _MOST_SUMS:
            return f"{sums} sums of a thread, {_MOST_SUMS} at most"
        threads = 32 * config["WARPS"] * config["BLOCKS"]
        if threads * (sums + _OTHERS) > self.machine.registers:
            return f"{threads} threads of {sums} sums each are beyond the registers"
        shared, room = self._shared(problem, config), self.machine.shared_room(config["BLOCKS"])
        return f"{shared} bytes of shared memory, {room} for a block" if shared > room else None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        """The layer's sizes, the tunables, the cores' type, and how pixels lie in shared memory."""
        rows, pitch = self._tile(problem)
        given = {"GIVEN_FLOATS": self._given(problem, config), "TILE_ROWS": rows, "PITCH": pitch}
        return {**super().macros(problem, config), **given, "CORES": CORES[self.precision].word}

    def workspace(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int]:
        """The sums of each block."""
        return {"partial": self._across(problem, config) * _columns(problem)}

    def steps(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[Step, ...]:
        """Sums by block, over the blocks, and those anew that are NaN."""
        rows, given = self._across(problem, config), inputs_of(problem)
        grid = (rows, *_beside(problem, config))
        shared = self._shared(problem, config)
        partial = Launch("weights_partial", grid, (32 * config["WARPS"], 1, 1), shared)
        columns = (blocks(_columns(problem), 32), 1, 1)
        finish = Launch("finish", columns, (32, _FINISH, 1))
        mend = Launch("mend", columns, (32, _FINISH, 1))
        return (
            Step(partial, (*given, "partial", problem.images)),
            Step(finish, ("partial", "dweights", "dbias", rows)),
            Step(mend, (*given, "dweights", "dbias", problem.images)),
        )

    def _across(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        resident = self.machine.multiprocessors * config["BLOCKS"]
        return min(problem.images, max(1, resident // math.prod(_beside(problem, config))))

    def _tile(self, problem: Conv2dWeightsGradient) -> tuple[int, int]:
        """Rows and pitch of a channel's pixels: of whole words of windows, in runs of four."""
        assert problem.pool is not None
        window, (above, left) = problem.pool.window[1], problem.padding
        word = CORES[self.precision].depth // 8 * window
        words = blocks(problem.layer.output_size[1] * window, word)
        across = max(words * word + problem.mask[1], problem.width + 2 * left)
        return problem.height + 2 * above, blocks(across, 4) * 4

    def _given(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Numbers of an image as they are given; or of a tile of each warp's sums, to be joined."""
        gradients = math.prod(problem.layer.output_size)
        plane = problem.height * problem.width
        given = config["ROLES"] * plane + 2 * config["TILES"] * _TILE_MAPS * gradients
        joined = config["WARPS"] * 16 * 8 * blocks(_offsets(problem), 8)
        return blocks(max(given, joined, 32 * config["WARPS"]), 4) * 4

    def _shared(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Bytes of what is given, and of gradients and pixels as they are multiplied."""
        rows, columns = problem.layer.output_size
        words = blocks(rows * blocks(columns, CORES[self.precision].depth // 8), 8) * 8
        held = 2 * config["TILES"] * _TILE_MAPS * (words + 4)
        pixels = config["ROLES"] * math.prod(self._tile(problem))
        return 4 * (self._given(problem, config) + held + pixels)


def _offsets(problem: Conv2dWeightsGradient) -> int:
    """Pixels from a cell's corner on that its masks meet."""
    return math.prod(side + _CELL_SIDE - 1 for side in problem.mask)


def _beside(problem: Conv2dWeightsGradient, config: Config) -> tuple[int, int]:
    """Blocks that share out an image: by channels, and by maps."""
    maps = config["TILES"] * _TILE_MAPS
    return blocks(problem.channels, config["ROLES"]), blocks(problem.maps, maps)


def _columns(problem: Conv2dWeightsGradient) -> int:
    """Weights and biases."""
    return sum(array.size for array in problem.output_arrays)
