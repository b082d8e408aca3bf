"""Rungs on tensor cores for few channels: a matrix product whose operands are gathered.

Source: Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014, for the implicit
matrix product; NVIDIA, "Parallel Thread Execution ISA", on ``mma``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.cores import CORES, Cores, MmaStrategy
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.common.storage import is_last, item_bytes
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.contract.machine import Multiprocessors
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu.gathered_gemm._tile import Tile, Words, tile_of

_MOST_REGISTERS = 255
_OTHER_REGISTERS = 48
"""Registers of a thread besides its sums and operands."""
_PIXELS = (64, 32, 16)
_WIDTHS = (128, 64, 32, 16, 8)
_HEIGHTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32)
_FILL, _FLAT, _LINE, _STORE, _TILE = 12, 4, 15, 5, 150
"""Instructions of a warp that bring 32 words to a tile, one by one and in pieces, that begin a line
of results, pool and store a result of each lane, and begin and end a tile."""
_WAITING = 8
"""Warps, besides an instruction's own, that hide half of the time that one waits for."""
_RESIDENT = ((8, 2), (8, 3), (16, 1), (8, 1))
"""Warps of a block, and blocks of a multiprocessor."""


class GatheredGemm(MmaStrategy, GpuConv2d):
    """Takes every problem whose weights, and whose inputs of a row of results, shared memory
    holds."""

    name = "gathered_gemm_{precision}"
    summary = "a matrix product gathered from a tile, for few channels, in {numbers}"
    takes = features("activation:* padding pool:average,max stride")

    stores: ClassVar[Mapping[str, str]] = {
        "X_NARROW": "x:narrow",
        "OUT_NARROW": "out:narrow",
        "X_LAST": "x:channels_last",
        "OUT_LAST": "out:channels_last",
    }
    numbers = 1
    """Numbers of the cores' type that stand for one value."""
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("TILE_IMAGES", (1, 2, 4, 8, 16), 1),
        Tunable("TILE_ROWS", (1, 2, 3, 4, 6, 8, 16, 32), 4),
        Tunable("TILE_COLUMNS", (8, 16, 32, 64, 128, 1024), 1024),
        Tunable("TILE_MAPS", (8, 16, 32, 64), 32),
        Tunable("WARP_PIXELS", (16, 32, 64), 32),
        Tunable("WARP_MAPS", (8, 16, 32, 64), 32),
        Tunable("WARPS", (4, 8, 16), 8),
        Tunable("BLOCKS", (1, 2, 3, 4), 2),
    )

    def limits(self, problem: Conv2d) -> str | None:
        tile, config = self._tile(problem, self.config(problem)), self.config(problem)
        reason = _beyond(tile, config, True, self.numbers, self.machine)
        return f"{reason}, even with its smallest tile" if reason else None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """The tile of which a result costs the fewest instructions."""
        return dict(_cheapest(problem, self._cores.bytes, self.numbers, self.machine))

    def clocks(self, problem: Conv2d, config: Config) -> float:
        """See `GpuStrategy.clocks`: a multiprocessor's share of the instructions of all."""
        cost = _cost(self._tile(problem, config), config, self.numbers, self.machine)
        return cost / self.machine.multiprocessors

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        if config["TILE_MAPS"] % config["WARP_MAPS"]:
            return f"{config['TILE_MAPS']} maps a tile for warps of {config['WARP_MAPS']}"
        last = is_last(problem, "out")
        return _beyond(self._tile(problem, config), config, last, self.numbers, self.machine)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        tile, last = self._tile(problem, config), is_last(problem, "out")
        words, (planes, rows, right) = tile.words, tile.inputs
        return {
            **super().macros(problem, config),
            "CORES": self._cores.word,
            "NUMBERS": self.numbers,
            "TILE_IMAGES": tile.images,
            "TILE_ROWS": tile.rows,
            "TILE_COLUMNS": tile.columns,
            "PLANES": planes,
            "IN_ROWS": rows,
            "IN_WORDS": right,
            "SUM_WORDS": words.count,
            "STEPS": words.steps,
            "TAPS_RIGHT": words.right,
            "TAP_STEP": words.apart,
            "COLUMN_PAIRS": int(words.columns),
            "PACKED": int(words.packed),
            "SHIFT": words.shift,
            "X_BYTES": item_bytes(problem, "x"),
            "FLAT": 0 if is_last(problem, "x") else tile.flat,
            "RUN_LANES": tile.run_lanes(is_last(problem, "x")),
            "SETS": tile.maps // 8,
            "TAP_WORDS": tile.tap_words,
            "STAGED_PITCH": tile.staged_pitch,
            "LINE_ROWS": tile.line_rows,
            "STORED": tile.stored(last),
        }

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[tiles of maps][steps][sets of 8 maps][8 maps][4 lanes][2 words][elements of a word],
        zeros around the weights."""
        words, tile = Words.of(problem, self._cores.bytes), config["TILE_MAPS"]
        down, right = problem.mask
        spare_maps, halves = -problem.maps % tile, 4 // self._cores.bytes
        columns = halves if words.columns else 1
        channels = 1 if words.columns else halves
        padded = np.pad(
            weights,
            (
                (0, spare_maps),
                (0, words.planes * channels - problem.channels),
                (0, 0),
                (words.shift, words.right * columns - right - words.shift),
            ),
        )
        shape = (-1, words.planes, channels, down, words.right, columns)
        terms = padded.reshape(shape).transpose(0, 1, 3, 4, 2, 5)
        flat = terms.reshape(len(padded), words.count, halves)
        filled = np.pad(flat, ((0, 0), (0, 8 * words.steps - words.count), (0, 0)))
        # A lane has a word of the first four of a step, and the one four further.
        split = filled.reshape(-1, tile // 8, 8, words.steps, 2, 4, halves)
        return split.transpose(0, 3, 1, 2, 5, 4, 6)

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        return {} if self.numbers > 1 else {"rounded": self._weight_words(problem, config)}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        if self.numbers > 1:
            return ()
        count = self._weight_words(problem, config) * 4 // self._cores.bytes
        return (rounding(self, "weights", "rounded", count),)

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        tile = self._tile(problem, config)
        resident = blocks(config["BLOCKS"] * self.machine.multiprocessors, tile.across[2])
        launch = Launch(
            self.kernel(),
            (min(tile.grid, resident), tile.across[2], 1),
            (32 * config["WARPS"], 1, 1),
            tile.bytes(is_last(problem, "out")),
        )
        weights = "rounded" if self.numbers == 1 else "weights"
        return (Step(launch, ("x", weights, "bias", "out", problem.batch)),)

    def _weight_words(self, problem: Conv2d, config: Config) -> int:
        tile = self._tile(problem, config)
        return tile.across[2] * tile.tap_words

    def _tile(self, problem: Conv2d, config: Config) -> Tile:
        return tile_of(problem, self._cores.bytes, config)

    @property
    def _cores(self) -> Cores:
        return CORES["tf32" if self.numbers > 1 else self.precision]


def _beyond(
    tile: Tile, config: Config, last: bool, numbers: int, machine: Multiprocessors
) -> str | None:
    """Why warps do not hold a tile, or a multiprocessor the config's blocks; None where they do."""
    resident, warps = config["BLOCKS"], config["WARPS"]
    tasks = tile.tasks(config["WARP_PIXELS"], config["WARP_MAPS"])
    if tasks > warps:
        return f"a tile of {tasks} tasks for {warps} warps"
    held = (
        config["WARP_PIXELS"] * config["WARP_MAPS"] // 32
        + numbers * config["WARP_MAPS"] // 4
        + config["WARP_PIXELS"] // 8
        + _OTHER_REGISTERS
    )
    if held > min(_MOST_REGISTERS, machine.register_room(32 * warps * resident)):
        return f"{held} registers a thread, {resident} blocks of {warps} warps"
    if tile.bytes(last) > machine.shared_room(resident):
        return f"{resident} blocks of {tile.bytes(last)} bytes of shared memory"
    return None


@lru_cache(maxsize=256)
def _cheapest(
    problem: Conv2d, size: int, numbers: int, machine: Multiprocessors
) -> tuple[tuple[str, int], ...]:
    """Of the configs that fit, the one that takes the fewest instructions; of equal ones the first.
    The smallest where none fits."""
    best, least = _config(1, 1, 8, 8, 16, 8, 1), math.inf
    for config in _configs(problem):
        tile = tile_of(problem, size, config)
        if all(_beyond(tile, config, last, numbers, machine) is None for last in (False, True)):
            cost = _cost(tile, config, numbers, machine)
            if cost < least:
                best, least = config, cost
    return tuple(best.items())


def _config(
    images: int, rows: int, columns: int, maps: int, pixels: int, warps: int, resident: int
) -> dict[str, int]:
    return {
        "TILE_IMAGES": images,
        "TILE_ROWS": rows,
        "TILE_COLUMNS": columns,
        "TILE_MAPS": maps,
        "WARP_PIXELS": pixels,
        "WARP_MAPS": min(32, maps),
        "WARPS": warps,
        "BLOCKS": resident,
    }


def _configs(problem: Conv2d) -> Iterator[dict[str, int]]:
    """Tiles of whole rows or of parts of them, of several images where those are small, for which
    more than half of the warps have a task."""
    rows, columns = problem.output_size
    pool = problem.pool
    (high, wide), (down, right) = (pool.window, pool.stride) if pool else ((1, 1), (1, 1))
    enough = min(64, max(8, 1 << (problem.maps - 1).bit_length()))
    tiles_of_maps = (enough, enough // 2) if enough > 8 else (enough,)
    widths = {columns: None, **{width: None for width in _WIDTHS if width < columns}}
    heights = (*(height for height in _HEIGHTS if height < rows), rows)
    for width, height in itertools.product(widths, heights):
        whole = (height, width) == (rows, columns)
        sums = ((height - 1) * down + high) * ((width - 1) * right + wide)
        for images in (1, 2, 4, 8) if whole else (1,):
            if images > 1 and images >= problem.batch:
                break
            for maps, pixels in itertools.product(tiles_of_maps, _PIXELS):
                tasks = blocks(images * sums, pixels) * (maps // min(32, maps))
                for warps, resident in _RESIDENT:
                    if tasks <= warps and (2 * tasks > warps or whole):
                        yield _config(images, height, width, maps, pixels, warps, resident)


def _cost(tile: Tile, config: Config, numbers: int, machine: Multiprocessors) -> float:
    """Instructions of a multiprocessor's warps, and the cores' time in such units."""
    pixels, maps, splits = config["WARP_PIXELS"], config["WARP_MAPS"], numbers - 1
    sets = maps // 8
    # Operands of 16 pixels, products, and operands of the maps.
    step = pixels // 16 * (8 + 12 * splits + sets * (1.6 + 8 * splits)) + sets * (1 + 6 * splits)
    each = config["WARPS"] * _TILE + tile.pixels * tile.maps / 16
    each += (_FLAT if tile.flat else _FILL) * tile.input_words / 32
    lines = tile.images * tile.maps * tile.rows // tile.line_rows
    stores = blocks(tile.line_rows * tile.columns, 32 * tile.stored(False))
    each += lines * (_LINE + stores * _STORE * tile.stored(False))
    # Warps wait for each other around their products, and others may hide that.
    each *= 1.5 if config["BLOCKS"] == 1 else 1.0
    each += config["WARPS"] * tile.words.steps * step
    tiles, slots = tile.grid * tile.across[2], config["BLOCKS"] * machine.multiprocessors
    waiting = 1 + _WAITING / (config["WARPS"] * config["BLOCKS"])
    return blocks(tiles, slots) * slots * each * waiting


class GatheredGemmIeee(GatheredGemm):
    """A number is split in two of TF32, and three products stand for one."""

    name = "gathered_gemm_ieee"
    numbers = 2
    summary = "a matrix product gathered from a tile, for few channels, float32 as two of TF32"

    def limits(self, problem: Conv2d) -> str | None:
        return too_short(problem.reduction) or super().limits(problem)


STRATEGIES = (
    *family(GatheredGemm(), "fp16", "bf16", "tf32"),
    GatheredGemmIeee(),
)
