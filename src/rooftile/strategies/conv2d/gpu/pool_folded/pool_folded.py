"""Rungs that fold the pool with bands in the 16 bits that the cores multiply."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.folded_pool import (
    GROUP_MAPS,
    bands_of,
    divides,
    folded,
    groups_of,
    slabs_of,
    strips_of,
    tile_of,
    weight_bytes,
)
from rooftile.strategies.common.grid import PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.common.storage import is_narrow, item_bytes
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.conv2d.gpu.pool_folded._base import ENOUGH_BLOCKS, MOST_WARPS, PoolFolded

_WORTH = 40 * 1024
"""Shared memory a block up to which a band grows: other blocks hide its loads."""
BANDS = (1, 2, 4, 8, 10, 16, 20, 40)
"""Rows of results that a band may have."""
_LINE = 16
"""Bytes, the most that one store takes."""


class NarrowFolded(PoolFolded):
    """Weights lie in registers, four of a thread for a slab."""

    name = "pool_folded_{precision}"
    summary = "pool positions as columns of a tensor-core product, inputs in {numbers}"
    source = "pool_folded"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "x:narrow", "OUT_NARROW": "out:narrow"}
    most_slabs = 20
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("BAND_ROWS", BANDS, 8),
        Tunable("BLOCK_BANDS", (1, 2, 4, 8, 16), 1),
        Tunable("WARPS", (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16), 4),
        Tunable("LEAST_BLOCKS", (1, 2, 3, 4, 5, 6), 1),
        Tunable("SEGMENTS", (1, 2, 4, 5, 10), 1),
        Tunable("AHEAD", (0, 1), 1),
        Tunable("CHAINS", (1, 2, 4), 1),
        Tunable("STAGED", (0, 1), 0),
    )

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Bands of several rows, a warp for each strip or group of maps, a few bands a block;
        results staged where they can be stored four together."""
        config = {tunable.name: tunable.default for tunable in self.tunables}
        for rows in BANDS:
            band = {**config, "BAND_ROWS": rows}
            fits = rows <= problem.output_size[0] and _band_bytes(problem, band) <= _WORTH
            if rows == 1 or fits:
                config = band
        config |= self._warps(problem)
        for bands in (2, 4):
            if self._grid(problem, {**config, "BLOCK_BANDS": bands}) >= ENOUGH_BLOCKS:
                config["BLOCK_BANDS"] = bands
        staged = {**config, "STAGED": 1}
        whole = _staging(problem, staged)["STORED_BYTES"] == _LINE
        if whole and self.invalid(problem, staged) is None:
            config = staged
        return config

    def _warps(self, problem: Conv2d) -> dict[str, int]:
        """Warps that share out groups of maps and strips, and as many blocks as registers hold."""
        strips, groups = strips_of(problem), groups_of(problem)
        most = max(1, 5 // groups)
        warps = groups * max(w for w in range(1, most + 1) if strips % w == 0)
        # Weights, patches, sums and what addresses take.
        registers = blocks(8 * slabs_of(problem) + 48, 8) * 8
        resident = self.machine.registers // (registers * 32 * warps)
        return {"WARPS": warps, "LEAST_BLOCKS": max(1, min(6, resident))}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        groups, warps = groups_of(problem), config["WARPS"]
        if groups > MOST_WARPS:
            return f"{problem.maps} maps a block, where {GROUP_MAPS * MOST_WARPS} fit"
        if warps % groups or warps > MOST_WARPS:
            return f"{warps} warps for {groups} groups of four maps"
        if not divides(config, config["SEGMENTS"]):
            return f"{config['SEGMENTS']} segments of unequal length"
        shared = self._block_bytes(problem, config)
        if shared > PORTABLE_SHARED_BYTES:
            return f"{shared} bytes of shared memory a block"
        return None

    def _grid(self, problem: Conv2d, config: Config) -> int:
        return blocks(bands_of(problem, config), config["BLOCK_BANDS"])

    def _block_bytes(self, problem: Conv2d, config: Config) -> int:
        return _band_bytes(problem, config)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        lie = {"ELEMENT_BYTES": 2, **_tile(problem, config), **_staging(problem, config)}
        return {**super().macros(problem, config), **lie}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[groups][slabs][2 rows of windows][2 rows of a slab][32 lanes][2 elements]."""
        return folded(problem, weights).transpose(0, 2, 3, 7, 4, 1, 8, 5, 6)

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        return {self.prepared: weight_bytes(problem) // 4}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        return (rounding(self, "weights", self.prepared, weight_bytes(problem) // 2),)


def _tile(problem: Conv2d, config: Config) -> dict[str, int]:
    return tile_of(problem, config["BAND_ROWS"], item_bytes(problem, "x"))


def _staging(problem: Conv2d, config: Config) -> dict[str, int]:
    """The layout of a band's results, and of the argmax, in shared memory, and the bytes of one
    store."""
    size = item_bytes(problem, "out")
    rows, columns = problem.output_size
    held = 2 * blocks(config["BAND_ROWS"], 2) * columns
    # The four maps of a warp's lanes lie in banks of their own.
    pitch = (blocks(held * size - 32, 64) * 64 + 32) // size
    sizes = [array.itemsize for array in problem.output_arrays]
    counts = rows * columns, config["BAND_ROWS"] * columns, pitch
    stored = math.gcd(_LINE, *(one * count for one in sizes for count in counts))
    stage = blocks(problem.maps * pitch * sum(sizes), _LINE) * _LINE
    return {"STAGED_PITCH": pitch, "STORED_BYTES": stored, "STAGE_BYTES": stage}


def _band_bytes(problem: Conv2d, config: Config) -> int:
    """Bytes of shared memory for bands, as they are copied and as they are multiplied, and
    results."""
    tile = _tile(problem, config)
    copies = 4 if not is_narrow(problem, "x") or tile["FLAT"] else 2
    held = 6 if tile["FLAT"] and not is_narrow(problem, "x") else copies
    bands = held * problem.channels * tile["TILE_SIZE"]
    if not config["STAGED"]:
        return bands
    # As many stages as tiles of the image.
    stages = 2 if tile["FLAT"] and is_narrow(problem, "x") else 1
    return bands + stages * _staging(problem, config)["STAGE_BYTES"]


STRATEGIES = family(NarrowFolded(), "fp16", "bf16")
