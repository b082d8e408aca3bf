"""Rung 16, `direct_tile`: one thread owns whole pooling windows of several maps.

The best float32 kernel for few channels: patch rows in registers, weights in
constant memory (one channel) or shared memory, pool in registers.

Source: the register tiling of Volkov and Demmel, "Benchmarking GPUs to Tune Dense
Linear Algebra", SC08, carried over to the convolution with the pool folded in.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import CONSTANT_BYTES, PORTABLE_SHARED_BYTES
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.conv2d.ends import beyond_zeros
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu.direct_tile._accesses import band_accesses
from rooftile.strategies.gpu import Config, Fill, Step, Tunable
from rooftile.strategies.machine import Machine

_CONSTANT_PAYS = 10**8
"""FLOPs of a problem from which constant memory saves more than it takes to fill it."""
_MOST_SUMS = 96
"""Sums a thread, of at most 255 registers."""
_MOST_THREADS = 256
"""The most threads of a block by default: small blocks hide each other's loads and barriers."""
_ENOUGH_BLOCKS = 4096
"""From so many blocks on, a block may take several bands and overlap their loads."""
_MOST_UNROLLED = 16384
"""Multiply-adds of one channel that are written out."""
_FEW_CHANNELS = 16
"""Up to so many, it comes before the matrix products."""


class DirectTile(GpuConv2d):
    """Takes pools whose windows tile the image."""

    name = "direct_tile"
    order = 16
    summary = "a thread owns pooling windows of several maps, patch rows and pool in registers"
    taps = "weights"
    """The array of the packed weights as they are multiplied."""
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("THREAD_MAPS", (1, 2, 4, 8), 4),
        Tunable("THREAD_ROWS", (1, 2), 1),
        Tunable("THREAD_COLUMNS", (1, 2, 4, 5), 1),
        Tunable("BAND_ROWS", (1, 2, 4, 7, 8, 10, 14, 16, 20, 28, 40), 4),
        Tunable("BLOCK_BANDS", (1, 2, 3, 4, 5, 7, 8, 10, 20), 1),
        Tunable("BLOCK_GROUPS", (1, 2, 4, 8), 1),
        Tunable("TILE_CHANNELS", (1, 2, 4, 8), 1),
        Tunable("TAPS_CONSTANT", (0, 1), 0),
        Tunable("LEAST_BLOCKS", (1, 2, 3, 4, 6, 8), 1),
    )

    def why_not(self, problem: Conv2d) -> str | None:
        """Windows that overlap or leave gaps; windows or masks too large for registers."""
        pool = problem.pool
        if pool is not None and pool.window != pool.stride:
            return f"a thread owns whole windows, which {pool.window} at {pool.stride} share"
        config = self.defaults(problem)
        reason = self.invalid(problem, config)
        return f"{reason}, even with its smallest tile" if reason else None

    def why_slow(self, problem: Conv2d) -> str | None:
        """Many channels are faster as a matrix product."""
        if problem.channels > _FEW_CHANNELS:
            return f"it pays up to {_FEW_CHANNELS} channels"
        return None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """A thread gets as many maps and windows as its registers hold, a block a cacheful of
        rows."""
        height, width = _window(problem)
        most = min(problem.maps, 32 // (height * width))
        maps = max(m for m in (1, 2, 4, 8) if m <= max(1, most))
        config = {
            "THREAD_MAPS": maps,
            "THREAD_ROWS": 1,
            "THREAD_COLUMNS": 1,
            "BAND_ROWS": 1,
            "BLOCK_BANDS": 1,
            "BLOCK_GROUPS": 1,
            "TILE_CHANNELS": 1,
            "TAPS_CONSTANT": 0,
            "LEAST_BLOCKS": 1,
        }
        for name, values in (
            ("THREAD_COLUMNS", (2, 4)),
            ("BLOCK_GROUPS", (2, 4, 8)),
            ("BAND_ROWS", (2, 4, 8, 16)),
            ("TILE_CHANNELS", (2, 4, 8)),
            ("BLOCK_BANDS", (2, 4)),
        ):
            for value in values:
                grown = {**config, name: value}
                if self._worth(problem, grown) and self.invalid(problem, grown) is None:
                    config = grown
        # Constant memory serves one address at a time: only where it is known to the compiler.
        literal = problem.channels == 1 and problem.maps <= config["THREAD_MAPS"]
        literal = literal and problem.flops >= _CONSTANT_PAYS
        config["TAPS_CONSTANT"] = int(literal and _taps_bytes(problem, config) <= CONSTANT_BYTES)
        config["LEAST_BLOCKS"] = _least_blocks(problem, config, self.machine)
        return config

    def _worth(self, problem: Conv2d, config: Config) -> bool:
        """Whether the larger tile is still used: no wider than the problem, not too many sums."""
        height, width = _window(problem)
        sums = config["THREAD_MAPS"] * height * width * config["THREAD_COLUMNS"]
        groups = blocks(problem.maps, config["THREAD_MAPS"])
        return (
            sums <= 32
            and config["THREAD_COLUMNS"] <= problem.output_size[1]
            and config["BAND_ROWS"] <= problem.output_size[0]
            and config["BLOCK_GROUPS"] <= groups
            and config["TILE_CHANNELS"] <= problem.channels
            and _threads(problem, config) <= _MOST_THREADS
            and (config["BLOCK_BANDS"] == 1 or _grid(problem, config) >= _ENOUGH_BLOCKS)
        )

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Registers, threads, shared and constant memory, bands of whole threads."""
        height, width = _window(problem)
        sums = (
            config["THREAD_MAPS"]
            * (config["THREAD_ROWS"] * height)
            * (config["THREAD_COLUMNS"] * width)
        )
        taps = problem.mask[0] * problem.mask[1]
        constant = _taps_bytes(problem, config)
        shared = _shared_bytes(problem, config, self.narrow)
        for fails, reason in (
            (sums > _MOST_SUMS, f"{sums} sums a thread, registers hold {_MOST_SUMS}"),
            (sums * taps > _MOST_UNROLLED, f"{sums * taps} multiply-adds a thread and channel"),
            (_threads(problem, config) > 1024, f"{_threads(problem, config)} threads a block"),
            (shared > PORTABLE_SHARED_BYTES, f"{shared} bytes of shared memory a block"),
            (config["BAND_ROWS"] % config["THREAD_ROWS"], "a band is no multiple of THREAD_ROWS"),
            (config["TAPS_CONSTANT"] and constant > CONSTANT_BYTES, f"{constant} bytes of taps"),
        ):
            if fails:
                return reason
        return None

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Sizes, tunables, and the layout that follows from both."""
        across = blocks(problem.output_size[1], config["THREAD_COLUMNS"])
        macros: dict[str, int | str] = {
            **super().macros(problem, config),
            **tile_of(problem, config, self.narrow),
            "BLOCK_PIXELS": across * (config["BAND_ROWS"] // config["THREAD_ROWS"]),
            "PADDED_MAPS": _padded_maps(problem, config),
        }
        if self.narrow:
            macros |= {"ROUNDED": 1, "CORES": CORES[self.narrow].word}
        return macros

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[groups][CHANNELS][MASK_HEIGHT][TAP_ROW]: each row MASK_WIDTH x THREAD_MAPS taps, then
        zeros to a multiple of four; maps padded with zeros."""
        spare = _padded_maps(problem, config) - problem.maps
        padded = np.pad(weights, ((0, spare), (0, 0), (0, 0), (0, 0)))
        groups = padded.reshape(-1, config["THREAD_MAPS"], *weights.shape[1:])
        rows = groups.transpose(0, 2, 3, 4, 1).reshape(*groups.shape[:1], *groups.shape[2:4], -1)
        fill = _tap_row(problem, config) - rows.shape[-1]
        return np.pad(rows, ((0, 0), (0, 0), (0, 0), (0, fill)))

    def constants(self, problem: Conv2d, config: Config) -> dict[str, Fill]:
        """The packed weights, where they lie in constant memory."""
        if not config["TAPS_CONSTANT"]:
            return {}
        return {"taps": Fill(self.taps, _taps_bytes(problem, config) // 4)}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel: a block for each band of each image and each set of map groups."""
        groups = _padded_maps(problem, config) // config["THREAD_MAPS"]
        pixels = int(self.macros(problem, config)["BLOCK_PIXELS"])
        launch = Launch(
            "conv2d",
            (_grid(problem, config), groups // config["BLOCK_GROUPS"], 1),
            (pixels, config["BLOCK_GROUPS"], 1),
            constants=("taps",) if config["TAPS_CONSTANT"] else (),
        )
        return (Step(launch, ("x", self.taps, "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """A thread's patch rows pass through its registers once."""
        layout = {**config, **tile_of(problem, config)}
        launch = self.steps(problem, config)[0].launch
        step, tap_row = _band_stride(problem, config), _tap_row(problem, config)
        return {"conv2d": band_accesses(problem, layout, launch, step, tap_row)}


class DirectTileNarrow(DirectTile):
    """The same with operands rounded to 16 bits; a plan's layers hand such arrays on."""

    devices = ("cuda",)
    least_architecture = 80
    source = "direct_tile"
    taps = "rounded"

    def why_not(self, problem: Conv2d) -> str | None:
        """See `DirectTile.why_not`; and other ghost cells than zeros."""
        return super().why_not(problem) or beyond_zeros(problem)

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Those of `direct_tile`, but bands that leave the fewest lanes of warps idle: of one warp,
        which waits for no other and may take a whole image's, or else as large as they may be."""
        config = {**super().defaults(problem), "BLOCK_BANDS": 1}
        rows = problem.output_size[0]
        bands = [{**config, "BAND_ROWS": count} for count in range(1, rows + 1)]
        worth = [
            band
            for band in bands
            if _threads(problem, band) <= _MOST_THREADS
            and _ghost_rows(problem) <= _band_stride(problem, band)
            and self.invalid(problem, band) is None
        ]

        def rank(band: Config) -> tuple[float, bool, int]:
            return _busy(problem, band), _threads(problem, band) <= 32, band["BAND_ROWS"]

        config = max(worth, key=rank, default=config)
        image = blocks(rows, config["BAND_ROWS"]) if _threads(problem, config) <= 32 else 1
        for count in (2, 4, max(4, image)):
            grown = {**config, "BLOCK_BANDS": count}
            if _grid(problem, grown) >= _ENOUGH_BLOCKS and self.invalid(problem, grown) is None:
                config = grown
        return config | {"LEAST_BLOCKS": _least_blocks(problem, config, self.machine)}

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """The rounded weights."""
        return {self.taps: _taps_bytes(problem, config) // 4}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """Rounds the weights."""
        return (rounding("weights", self.taps, _taps_bytes(problem, config) // 4),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """No model: rows pass through registers, which round them, on their way to shared
        memory."""
        return {}


def _window(problem: Conv2d) -> tuple[int, int]:
    return problem.pool.window if problem.pool else (1, 1)


def _padded_maps(problem: Conv2d, config: Config) -> int:
    size = config["THREAD_MAPS"] * config["BLOCK_GROUPS"]
    return blocks(problem.maps, size) * size


def _threads(problem: Conv2d, config: Config) -> int:
    across = blocks(problem.output_size[1], config["THREAD_COLUMNS"])
    return across * max(1, config["BAND_ROWS"] // config["THREAD_ROWS"]) * config["BLOCK_GROUPS"]


def _band_stride(problem: Conv2d, config: Config) -> int:
    """Rows of the image from one band to the next."""
    return config["BAND_ROWS"] * _window(problem)[0] * problem.stride[0]


def _ghost_rows(problem: Conv2d) -> int:
    """Rows of the image that a band has in common with the next."""
    return problem.mask[0] - problem.stride[0]


def _busy(problem: Conv2d, config: Config) -> float:
    """The share of the lanes of all warps that own windows."""
    (rows, columns), width = problem.output_size, config["THREAD_COLUMNS"]
    owners = rows / config["THREAD_ROWS"] * blocks(columns, width)
    warps = blocks(_threads(problem, config), 32)
    return owners * config["BLOCK_GROUPS"] / (32 * warps * blocks(rows, config["BAND_ROWS"]))


def _grid(problem: Conv2d, config: Config) -> int:
    """Blocks for each set of map groups."""
    bands = problem.batch * blocks(problem.output_size[0], config["BAND_ROWS"])
    return blocks(bands, config["BLOCK_BANDS"])


def _least_blocks(problem: Conv2d, config: Config, machine: Machine) -> int:
    """Blocks a multiprocessor that the compiler is held to: so many as registers allow.

    Only where a thread needs little but its sums and the patch rows that they meet at once:
    taps in constant memory, no strides, no ghost cells.
    """
    if not config["TAPS_CONSTANT"] or problem.stride != (1, 1) or problem.padding != (0, 0):
        return 1
    height, width = _window(problem)
    rows, columns = config["THREAD_ROWS"] * height, config["THREAD_COLUMNS"] * width
    sums = config["THREAD_MAPS"] * rows * columns
    registers = max(64, blocks(sums + rows * (columns + problem.mask[1] - 1) + 12, 8) * 8)
    threads = _threads(problem, config)
    return max(1, min(8, machine.registers // (registers * threads), 1024 // threads))


def _tap_row(problem: Conv2d, config: Config) -> int:
    """Taps of one mask row of a group of maps, in whole vectors."""
    return blocks(problem.mask[1] * config["THREAD_MAPS"], 4) * 4


def _taps_bytes(problem: Conv2d, config: Config) -> int:
    """All packed taps."""
    groups = _padded_maps(problem, config) // config["THREAD_MAPS"]
    return 4 * groups * problem.channels * problem.mask[0] * _tap_row(problem, config)


def tile_of(problem: Conv2d, config: Config, narrow: str = "") -> dict[str, int]:
    """How a band of one channel lies in shared memory."""
    (window_rows, window_columns), (down, right) = _window(problem), problem.stride
    band_stride = _band_stride(problem, config)
    rows = band_stride + _ghost_rows(problem)
    across = blocks(problem.output_size[1], config["THREAD_COLUMNS"])
    thread_columns = config["THREAD_COLUMNS"] * window_columns * right
    columns = across * thread_columns - right + problem.mask[1]
    flat = problem.padding == (0, 0) and not narrow
    if narrow:
        # Whole rows of the image are rounded, whatever of them is used.
        columns = max(columns, problem.padding[1] + problem.width)
        piece = math.gcd(4, problem.width)
    else:
        piece = math.gcd(4, problem.height * problem.width, band_stride * problem.width)
    pitch = problem.width if flat else blocks(columns, 4) * 4
    thread_rows = config["THREAD_ROWS"] * window_rows * down
    return {
        "FLAT": int(flat),
        "PIECE": piece,
        "PLACED": math.gcd(piece, problem.padding[1]),
        "PITCH": pitch,
        "ALIGNED": math.gcd(4, thread_columns, thread_rows * pitch),
        "TILE_ROWS": rows,
        # Windows beyond the last column reach beyond the last row.
        "TILE_SIZE": blocks((rows - 1) * pitch + max(pitch, columns), 4) * 4,
    }


def _shared_bytes(problem: Conv2d, config: Config, narrow: str) -> int:
    channel_tiles = blocks(problem.channels, config["TILE_CHANNELS"])
    taps = problem.mask[0] * _tap_row(problem, config) * config["BLOCK_GROUPS"]
    tap_copies = 0 if config["TAPS_CONSTANT"] else min(2, channel_tiles)
    tile_copies = min(2, channel_tiles * config["BLOCK_BANDS"])
    tile = tile_of(problem, config, narrow)["TILE_SIZE"]
    return 4 * config["TILE_CHANNELS"] * (tile_copies * tile + tap_copies * taps)


STRATEGY = DirectTile()
