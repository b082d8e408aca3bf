"""Rungs on tensor cores that fold the pooling window into the matrix product's columns."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32, narrowed
from rooftile.strategies._warpgroups import completed, elements, product
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, blocks
from rooftile.strategies.gpu import Config, Step, Tunable

_SHARED_BYTES = 48 * 1024
_WGMMA_SHARED_BYTES = 100 * 1024
_WORTH = 40 * 1024
"""Shared memory a block up to which a band grows: blocks beside it hide its loads."""
_REGISTERS = 65536
"""Of a multiprocessor."""
_MOST_WARPS = 16
_MOST_GROUPS = 6
"""Groups of four maps whose sums a thread of a warpgroup holds."""
_ENOUGH_BLOCKS = 2500
"""Of a grid: from here on a block may take several bands and overlap their loads."""


class PoolFolded(GpuConv2d):
    """Takes few channels, pools whose windows tile the image in even sizes, and no strides."""

    devices = ("cuda",)
    least_architecture = 80
    source = "pool_folded"
    headers: ClassVar[tuple[str, ...]] = ("_narrow.h", "_formats.h", "_pool_folded.h")
    wgmma = False
    most_slabs = 20
    """Of 16 patch elements, where a thread keeps the weights of each: four registers."""
    transforms_weights = True
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("BAND_ROWS", (1, 2, 4, 8, 10, 16, 20, 40), 8),
        Tunable("BLOCK_BANDS", (1, 2, 4, 8, 16), 1),
        Tunable("WARPS", (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16), 4),
        Tunable("LEAST_BLOCKS", (1, 2, 3, 4, 5, 6), 1),
        Tunable("SEGMENTS", (1, 2, 4, 5, 10), 1),
        Tunable("AHEAD", (0, 1), 1),
        Tunable("CHAINS", (1, 2, 4), 1),
        Tunable("STAGED", (0, 1), 0),
    )

    def why_not(self, problem: Conv2d) -> str | None:
        """Odd or overlapping windows, strides, wide masks, many channels or maps."""
        reason = does_not_fold(problem)
        if reason is not None:
            return reason
        slabs = problem.channels * patch_slabs(problem)
        if slabs > self.most_slabs:
            return f"{slabs} slabs of weights, where {self.most_slabs} fit"
        reason = self.invalid(problem, self.config(problem))
        return f"{reason}, even with its smallest tile" if reason else None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Bands of several rows, a warp for each strip or group of maps, a few bands a block;
        results staged where they can be stored four together."""
        config = {tunable.name: tunable.default for tunable in self.tunables}
        config |= {"X_NARROW": 0, "OUT_NARROW": 0}
        for rows in (1, 2, 4, 8, 10, 16, 20, 40):
            band = {**config, "BAND_ROWS": rows}
            if rows == 1 or (rows <= problem.output_size[0] and _shared(problem, band) <= _WORTH):
                config = band
        strips, groups = strips_of(problem), blocks(problem.maps, 4)
        if self.wgmma:
            config["SEGMENTS"] = whole_segments(problem, config)[0]
        else:
            most = max(1, 5 // groups)
            config["WARPS"] = groups * max(w for w in range(1, most + 1) if strips % w == 0)
            slabs = problem.channels * patch_slabs(problem)
            # Weights, patches, sums and what addresses take.
            registers = blocks(8 * slabs + 48, 8) * 8
            least = _REGISTERS // (registers * 32 * config["WARPS"])
            config["LEAST_BLOCKS"] = max(1, min(6, least))
        for bands in (2, 4):
            if _grid(problem, {**config, "BLOCK_BANDS": bands}) >= _ENOUGH_BLOCKS:
                config["BLOCK_BANDS"] = bands
        staged = {**config, "STAGED": 1}
        whole = _staging(problem, staged)["STORED"] == 4
        # Warpgroups' results are few beside what they multiply.
        if whole and not self.wgmma and self.invalid(problem, staged) is None:
            config = staged
        return {name: config[name] for name in config if not name.endswith("NARROW")}

    def _block_bytes(self, problem: Conv2d, config: Config) -> int:
        """Of shared memory, the weights' where they lie there."""
        return _shared(problem, config) + (weight_bytes(problem) if self.wgmma else 0)

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Shared memory, warps that share out the maps or multiply together, whole segments."""
        groups, warps = blocks(problem.maps, 4), config["WARPS"]
        most = _MOST_GROUPS if self.wgmma else _MOST_WARPS
        if groups > most:
            return f"{problem.maps} maps a block, where {4 * most} fit"
        if self.wgmma and warps % 4:
            return f"{warps} warps, where four multiply together"
        if not self.wgmma and (warps % groups or warps > _MOST_WARPS):
            return f"{warps} warps for {groups} groups of four maps"
        # The sums and patches of an instruction must fit, whatever the compiler would rather do.
        held = 8 * groups + 4 * problem.channels * patch_slabs(problem) + 40
        if self.wgmma and config["LEAST_BLOCKS"] * 32 * warps * held > _REGISTERS:
            return f"{config['LEAST_BLOCKS']} blocks of {warps} warps of {held} registers a thread"
        if not divides(config, config["SEGMENTS"]):
            return f"{config['SEGMENTS']} segments of unequal length"
        shared = self._block_bytes(problem, config)
        if shared > (_WGMMA_SHARED_BYTES if self.wgmma else _SHARED_BYTES):
            return f"{shared} bytes of shared memory a block"
        return None

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Sizes, tunables, and the layout of a band in shared memory."""
        macros = {**super().macros(problem, config), **_tile(problem, config)}
        macros |= _staging(problem, config)
        macros |= {"ELEMENT_BYTES": 2, "BFLOAT": int(self.narrow == "bf16")}
        macros |= {"WGMMA": int(self.wgmma)}
        if self.wgmma:
            macros |= products(blocks(problem.maps, 4), self.precision)
        return macros

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """Bits of 16-bit pairs, as float32 holds them: [groups][slabs][2 rows of positions][2
        halves][32 lanes]; for warpgroups [slabs][2 halves][groups][2 rows][8 columns][8 deep]."""
        groups, slabs = blocks(problem.maps, 4), patch_slabs(problem)
        height, width = problem.mask
        spare = np.zeros((4 * groups - problem.maps, *weights.shape[1:]), np.float32)
        maps = np.concatenate([weights, spare])
        # folded[map, channel, patch row, patch column, dy, dx]
        folded = np.zeros((*maps.shape[:2], 2 * slabs, 8, 2, 2), np.float32)
        for dy in (0, 1):
            for dx in (0, 1):
                folded[:, :, dy : dy + height, dx : dx + width, dy, dx] = maps
        if self.wgmma:
            # map group, map, channel, slab, half, patch column, dy, dx
            split = folded.reshape(groups, 4, problem.channels, slabs, 2, 8, 2, 2)
            ordered = split.transpose(2, 3, 4, 0, 6, 1, 7, 5)
            return narrowed(np.ascontiguousarray(ordered), self.narrow).view(np.float32)
        # A lane 4 g + t holds elements 2t, 2t + 1 of the column 2 (map mod 4) + dx = g.
        split = folded.reshape(groups, 4, problem.channels, slabs, 2, 4, 2, 2, 2)
        # group, map, channel, slab, half, t, low or high, dy, dx
        ordered = split.transpose(0, 2, 3, 7, 4, 1, 8, 5, 6)
        return narrowed(np.ascontiguousarray(ordered), self.narrow).view(np.float32)

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel: blocks over the bands of all images."""
        shared = self._block_bytes(problem, config)
        launch = Launch(
            "conv2d", (_grid(problem, config), 1, 1), (32 * config["WARPS"], 1, 1), shared
        )
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)


def products(groups: int, precision: str) -> dict[str, int | str]:
    """The instructions for 16 columns a group of four maps: sums = a b, sums += a b, the wait."""
    sums, a = elements("sum", groups, 2, 4), elements("a", 4)
    return {
        "WGMMA_FIRST(sum, a, b)": product(precision, sums, a, "b", False),
        "WGMMA_NEXT(sum, a, b)": product(precision, sums, a, "b", True),
        "WGMMA_WAIT(sum)": completed(sums, "0"),
    }


def does_not_fold(problem: Conv2d) -> str | None:
    """Why a pool is not positions of a product's columns; None where it is."""
    pool = problem.pool
    if pool is None or pool.window != pool.stride:
        return "it folds a pool whose windows tile the image"
    if pool.window[0] % 2 or pool.window[1] not in (2, 4, 8):
        return f"windows are folded 2x2, and {pool.window} are not even, and 2, 4 or 8 wide"
    if problem.stride != (1, 1) or problem.mask[1] > 7:
        return "a patch is 8 wide: masks of up to 7 columns without strides"
    return None


def weight_bytes(problem: Conv2d) -> int:
    """Of the folded weights in 16 bits, for groups of four maps."""
    return 512 * blocks(problem.maps, 4) * problem.channels * patch_slabs(problem)


def patch_slabs(problem: Conv2d) -> int:
    """Pairs of patch rows of a channel."""
    return (problem.mask[0] + 2) // 2


def pool_window(problem: Conv2d) -> tuple[int, int]:
    assert problem.pool is not None
    return problem.pool.window


def strips_of(problem: Conv2d) -> int:
    """Of eight folded windows."""
    return blocks(problem.output_size[1] * pool_window(problem)[1], 16)


def whole_segments(problem: Conv2d, config: Config) -> list[int]:
    """How strips may be cut so that four warps always multiply together; else into one."""
    strips = strips_of(problem)
    return [s for s in (1, 2, 4) if strips * s % 4 == 0 and divides(config, s)] or [1]


def divides(config: Config, segments: int) -> bool:
    """Whether segments of a half band are equal, and made of whole windows."""
    return blocks(config["BAND_ROWS"], 2) % segments == 0


def _grid(problem: Conv2d, config: Config) -> int:
    bands = problem.batch * blocks(problem.output_size[0], config["BAND_ROWS"])
    return blocks(bands, config["BLOCK_BANDS"])


def _tile(problem: Conv2d, config: Config) -> dict[str, int]:
    window = pool_window(problem)
    half = blocks(config["BAND_ROWS"], 2)
    # Both halves' windows, and the patch below the last.
    rows = 2 * half * window[0] + 2 * patch_slabs(problem) - 2
    flat = problem.padding == (0, 0) and problem.width % 2 == 0
    columns = 16 * strips_of(problem) + 6
    pitch = problem.width if flat else blocks(columns, 2) * 2
    size = 2 if config["X_NARROW"] else 4
    step = config["BAND_ROWS"] * window[0]
    piece = size * math.gcd(16 // size, problem.height * problem.width, step * problem.width)
    return {
        "HALF_ROWS": half,
        "FLAT": int(flat and piece >= 4),
        "PIECE_BYTES": max(4, piece),
        "PITCH": pitch,
        "TILE_ROWS": rows,
        "TILE_SIZE": blocks((rows - 1) * pitch + max(pitch, columns), 8) * 8,
    }


def _staging(problem: Conv2d, config: Config) -> dict[str, int]:
    """How a band's results lie in shared memory, and how many of them one store takes."""
    size = 2 if config["OUT_NARROW"] else 4
    rows, columns = problem.output_size
    held = 2 * blocks(config["BAND_ROWS"], 2) * columns
    # The four maps of a warp's lanes lie in banks of their own.
    pitch = (blocks(held * size - 32, 64) * 64 + 32) // size
    stored = math.gcd(16 // size, rows * columns, config["BAND_ROWS"] * columns)
    return {"STAGED_PITCH": pitch, "STORED": stored}


def _shared(problem: Conv2d, config: Config) -> int:
    tile = _tile(problem, config)
    copies = 4 if not config["X_NARROW"] or tile["FLAT"] else 2
    held = 6 if tile["FLAT"] and not config["X_NARROW"] else copies
    bands = held * problem.channels * tile["TILE_SIZE"]
    if not config["STAGED"]:
        return bands
    # As many stages as tiles of the image.
    stages = 2 if tile["FLAT"] and config["X_NARROW"] else 1
    size = 2 if config["OUT_NARROW"] else 4
    return bands + stages * size * problem.maps * _staging(problem, config)["STAGED_PITCH"]
