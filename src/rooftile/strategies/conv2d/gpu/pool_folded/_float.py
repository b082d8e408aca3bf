"""Rungs that fold the pool, warp by warp, with bands in float32."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.folded_pool import (
    GROUP_MAPS,
    bands_of,
    divides,
    folded,
    groups_of,
    strips_of,
    tile_of,
)
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu.pool_folded._base import ENOUGH_BLOCKS, MOST_WARPS, PoolFolded

_MOST_REGISTERS = 255
BANDS = (40, 20, 16, 10, 8, 4, 2, 1)

BAND_TUNABLES = (
    Tunable("BAND_ROWS", BANDS, 1),
    Tunable("LEAST_BLOCKS", (1, 2, 3, 4, 5, 6), 1),
    Tunable("SEGMENTS", (1, 2, 4, 5, 10), 1),
    Tunable("BUFFERS", (1, 2), 1),
)


class WarpsFolded(PoolFolded):
    """Bands stay float32 in shared memory; two buffers overlap a band's copy with products.
    Weights and patches are in registers, for few channels; the warps of a block share a band."""

    source = "pool_folded_tf32"
    most_groups = MOST_WARPS
    """Groups of maps that a block takes."""
    worth = 26 * 1024
    """A band's shared memory, up to which it grows: other blocks hide its loads."""
    static_bytes = 0
    """Bytes of shared memory that the text declares itself, up to what aligns the rest."""
    axes: tuple[int, ...]
    """The order of the axes of folded weights in memory; see `folded`."""
    warps = Tunable("WARPS", (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16), 4)
    block_bands = Tunable("BLOCK_BANDS", (1, 2, 4, 8, 16), 1)

    @abstractmethod
    def _held(self, problem: Conv2d, config: Config) -> int:
        """Registers that a thread needs."""

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Bands of several rows, two buffers where both fit, as many blocks as find room."""
        config = {tunable.name: tunable.default for tunable in self.tunables}
        sizes = (rows for rows in BANDS if rows <= problem.output_size[0])
        worth = (rows for rows in sizes if _band_bytes(problem, rows) <= self.worth)
        config["BAND_ROWS"] = next(worth, 1)
        config |= self._shared_out(problem, config)
        for resident in (2, 3, 4):
            if self.invalid(problem, config | {"LEAST_BLOCKS": resident}) is None:
                config["LEAST_BLOCKS"] = resident
        return config

    def _shared_out(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """A warp for each strip or group of maps, several bands a block where there are many."""
        strips, groups = strips_of(problem), groups_of(problem)
        share = max(w for w in range(1, max(1, 5 // groups) + 1) if strips % w == 0)
        chosen = {"WARPS": groups * share, "BUFFERS": 2}
        if self.invalid(problem, {**config, **chosen}):
            chosen["BUFFERS"] = 1
        for bands in (2, 4, 8):
            if self._grid(problem, {**config, "BLOCK_BANDS": bands}) >= ENOUGH_BLOCKS:
                chosen["BLOCK_BANDS"] = bands
        return chosen

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        groups, warps, resident = groups_of(problem), config["WARPS"], config["LEAST_BLOCKS"]
        if groups > self.most_groups:
            return f"{problem.maps} maps a block, where {GROUP_MAPS * self.most_groups} fit"
        if warps % groups:
            return f"{warps} warps for {groups} groups of four maps"
        held = self._held(problem, config)
        if held > min(_MOST_REGISTERS, self.machine.register_room(32 * warps * resident)):
            return f"{resident} blocks of {warps} warps of {held} registers a thread"
        if not divides(config, config["SEGMENTS"]):
            return f"{config['SEGMENTS']} segments of unequal length"
        shared = self._block_bytes(problem, config) + self.static_bytes
        if shared > self.machine.shared_room(1):
            return f"{shared} bytes of shared memory a block"
        return None

    def _grid(self, problem: Conv2d, config: Config) -> int:
        return blocks(bands_of(problem, config), config["BLOCK_BANDS"])

    def _block_bytes(self, problem: Conv2d, config: Config) -> int:
        return config["BUFFERS"] * _band_bytes(problem, config["BAND_ROWS"])

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        absent = {"AHEAD": 0, "CHAINS": 1}
        lie = {"ELEMENT_BYTES": 4, **tile_of(problem, config["BAND_ROWS"], 4)}
        return {**absent, **super().macros(problem, config), **lie}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """The folded weights in the rung's order; behind them the weights as `tap` wants them."""
        ordered = folded(problem, weights).transpose(self.axes)
        return np.concatenate([ordered.ravel(), weights.ravel()])

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        return {self.prepared: self._packed_size(problem, config)}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        return (rounding(self, "weights", self.prepared, self._packed_size(problem, config)),)

    def _packed_size(self, problem: Conv2d, config: Config) -> int:
        given = math.prod(problem.parameter_shapes["weights"])
        return self._folded_count(problem, config) + given


def _band_bytes(problem: Conv2d, rows: int) -> int:
    return 4 * problem.channels * tile_of(problem, rows, 4)["TILE_SIZE"]
