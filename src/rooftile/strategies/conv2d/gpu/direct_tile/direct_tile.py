"""`direct_tile`: one thread owns whole pooling windows of several maps.

The best float32 kernel for few channels: patch rows in registers, weights in
constant memory (one channel) or shared memory, pool in registers.

Source: the register tiling of Volkov and Demmel, "Benchmarking GPUs to Tune Dense
Linear Algebra", SC08, carried over to the convolution with the pool folded in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import CONSTANT_BYTES, PORTABLE_SHARED_BYTES
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.contract.gpu import Config, Fill, Step, Tunable
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu.direct_tile import _tile
from rooftile.strategies.conv2d.gpu.direct_tile._accesses import band_accesses

_CONSTANT_PAYS = 10**8
"""FLOPs of a problem from which constant memory saves more than it takes to fill it."""
_MOST_SUMS = 96
"""Sums a thread, of at most 255 registers."""
_MOST_THREADS = 256
"""The most threads of a block by default: small blocks hide each other's loads and barriers."""
_ENOUGH_BLOCKS = 4096
"""Number of blocks from which a block may take several bands and overlap their loads."""
_MOST_UNROLLED = 16384
"""Multiply-adds of one channel that are written out."""


class DirectTile(GpuConv2d):
    """Takes pools whose windows tile the image."""

    name = "direct_tile"
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

    def limits(self, problem: Conv2d) -> str | None:
        pool = problem.pool
        if pool is not None and pool.window != pool.stride:
            return f"a thread owns whole windows, which {pool.window} at {pool.stride} share"
        config = self.defaults(problem)
        reason = self.invalid(problem, config)
        return f"{reason}, even with its smallest tile" if reason else None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """`large`; but with few images, whose blocks would leave multiprocessors idle, a thread
        gets one map and a block fewer rows, which take less time to compile, too."""
        config = self.large(problem)
        for name in ("THREAD_MAPS", "THREAD_COLUMNS", "BAND_ROWS"):
            while config[name] % 2 == 0:
                smaller = {**config, name: config[name] // 2}
                if not self._has_room(problem, smaller):
                    break
                config = smaller
        return config

    def _has_room(self, problem: Conv2d, config: Config) -> bool:
        """True if each block gets a multiprocessor of its own, and has a warp, but few threads."""
        groups = _tile.padded_maps(problem, config) // config["THREAD_MAPS"]
        count = _tile.grid(problem, config) * groups // config["BLOCK_GROUPS"]
        return (
            not config["TAPS_CONSTANT"]
            and count <= self.machine.multiprocessors
            and WARP <= _tile.threads(problem, config) <= _MOST_THREADS
            and self.invalid(problem, config) is None
        )

    def large(self, problem: Conv2d) -> dict[str, int]:
        """A thread gets as many maps and windows as its registers hold, a block a cacheful of
        rows."""
        height, width = _tile.window(problem)
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
        config["TAPS_CONSTANT"] = int(
            literal and _tile.taps_bytes(problem, config) <= CONSTANT_BYTES
        )
        config["LEAST_BLOCKS"] = _tile.least_blocks(problem, config, self.machine)
        return config

    def _worth(self, problem: Conv2d, config: Config) -> bool:
        """True if the larger tile is still used: no wider than the problem, not too many sums."""
        height, width = _tile.window(problem)
        sums = config["THREAD_MAPS"] * height * width * config["THREAD_COLUMNS"]
        groups = blocks(problem.maps, config["THREAD_MAPS"])
        return (
            sums <= 32
            and config["THREAD_COLUMNS"] <= problem.output_size[1]
            and config["BAND_ROWS"] <= problem.output_size[0]
            and config["BLOCK_GROUPS"] <= groups
            and config["TILE_CHANNELS"] <= problem.channels
            and _tile.threads(problem, config) <= _MOST_THREADS
            and (config["BLOCK_BANDS"] == 1 or _tile.grid(problem, config) >= _ENOUGH_BLOCKS)
        )

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        height, width = _tile.window(problem)
        sums = (
            config["THREAD_MAPS"]
            * (config["THREAD_ROWS"] * height)
            * (config["THREAD_COLUMNS"] * width)
        )
        taps = problem.mask[0] * problem.mask[1]
        threads, constant = _tile.threads(problem, config), _tile.taps_bytes(problem, config)
        shared = _tile.shared_bytes(problem, config, self.narrow)
        for fails, reason in (
            (sums > _MOST_SUMS, f"{sums} sums a thread, registers hold {_MOST_SUMS}"),
            (sums * taps > _MOST_UNROLLED, f"{sums * taps} multiply-adds a thread and channel"),
            (threads > 1024, f"{threads} threads a block"),
            (shared > PORTABLE_SHARED_BYTES, f"{shared} bytes of shared memory a block"),
            (config["BAND_ROWS"] % config["THREAD_ROWS"], "a band is no multiple of THREAD_ROWS"),
            (config["TAPS_CONSTANT"] and constant > CONSTANT_BYTES, f"{constant} bytes of taps"),
        ):
            if fails:
                return reason
        return None

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        across = blocks(problem.output_size[1], config["THREAD_COLUMNS"])
        macros: dict[str, int | str] = {
            **super().macros(problem, config),
            **_tile.tile_of(problem, config, self.narrow),
            "BLOCK_PIXELS": across * (config["BAND_ROWS"] // config["THREAD_ROWS"]),
            "PADDED_MAPS": _tile.padded_maps(problem, config),
        }
        if self.narrow:
            macros |= {"ROUNDED": 1, "CORES": CORES[self.narrow].word}
        return macros

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[groups][CHANNELS][MASK_HEIGHT][TAP_ROW]: each row MASK_WIDTH x THREAD_MAPS taps, then
        zeros to a multiple of four; maps padded with zeros."""
        spare = _tile.padded_maps(problem, config) - problem.maps
        padded = np.pad(weights, ((0, spare), (0, 0), (0, 0), (0, 0)))
        groups = padded.reshape(-1, config["THREAD_MAPS"], *weights.shape[1:])
        rows = groups.transpose(0, 2, 3, 4, 1).reshape(*groups.shape[:1], *groups.shape[2:4], -1)
        fill = _tile.tap_row(problem, config) - rows.shape[-1]
        return np.pad(rows, ((0, 0), (0, 0), (0, 0), (0, fill)))

    def constants(self, problem: Conv2d, config: Config) -> dict[str, Fill]:
        if not config["TAPS_CONSTANT"]:
            return {}
        return {"taps": Fill(self.taps, _tile.taps_bytes(problem, config) // 4)}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        groups = _tile.padded_maps(problem, config) // config["THREAD_MAPS"]
        pixels = int(self.macros(problem, config)["BLOCK_PIXELS"])
        launch = Launch(
            self.kernel(),
            (_tile.grid(problem, config), groups // config["BLOCK_GROUPS"], 1),
            (pixels, config["BLOCK_GROUPS"], 1),
            constants=("taps",) if config["TAPS_CONSTANT"] else (),
        )
        return (Step(launch, ("x", self.taps, "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """A thread's patch rows pass through its registers once."""
        layout = {**config, **_tile.tile_of(problem, config)}
        launch = self.steps(problem, config)[0].launch
        step, tap_row = _tile.band_stride(problem, config), _tile.tap_row(problem, config)
        return {self.kernel(): band_accesses(problem, layout, launch, step, tap_row)}


class DirectTileNarrow(DirectTile):
    """The same with operands rounded to 16 bits; a plan's layers hand such arrays on."""

    name = "direct_tile_{precision}"
    summary = "the direct tile, inputs in {numbers}, multiply-adds in float32"
    takes = features("activation:* padding pool.activation:* pool:average,l2,max stride")

    devices = ("cuda",)
    least_architecture = 80
    source = "direct_tile"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "x:narrow", "OUT_NARROW": "out:narrow"}
    taps = "rounded"

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """`DirectTile.large`, but bands that leave the fewest lanes of warps idle: of one warp,
        which waits for no other and may take a whole image's, or else as large as they may be."""
        config = {**self.large(problem), "BLOCK_BANDS": 1}
        rows = problem.output_size[0]
        # A row of a band is a row of threads.
        most = min(rows, _MOST_THREADS)
        bands = [{**config, "BAND_ROWS": count} for count in range(1, most + 1)]
        worth = [
            band
            for band in bands
            if _tile.threads(problem, band) <= _MOST_THREADS
            and _tile.ghost_rows(problem) <= _tile.band_stride(problem, band)
            and self.invalid(problem, band) is None
        ]

        def rank(band: Config) -> tuple[float, bool, int]:
            return _tile.busy(problem, band), _tile.threads(problem, band) <= 32, band["BAND_ROWS"]

        config = max(worth, key=rank, default=config)
        image = blocks(rows, config["BAND_ROWS"]) if _tile.threads(problem, config) <= 32 else 1
        for count in (2, 4, max(4, image)):
            grown = {**config, "BLOCK_BANDS": count}
            enough = _tile.grid(problem, grown) >= _ENOUGH_BLOCKS
            if enough and self.invalid(problem, grown) is None:
                config = grown
        return config | {"LEAST_BLOCKS": _tile.least_blocks(problem, config, self.machine)}

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        return {self.taps: _tile.taps_bytes(problem, config) // 4}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        return (rounding(self, "weights", self.taps, _tile.taps_bytes(problem, config) // 4),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """No model: rows pass through registers, which round them, on their way to shared
        memory."""
        return {}


STRATEGIES = (DirectTile(), DirectTileNarrow().at("fp16"), DirectTileNarrow().at("bf16"))
