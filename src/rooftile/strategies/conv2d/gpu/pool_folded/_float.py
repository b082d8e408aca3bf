"""Rungs that fold the pool with bands in float32."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.conv2d.gpu.pool_folded._base import ENOUGH_BLOCKS, MOST_WARPS, PoolFolded
from rooftile.strategies.conv2d.gpu.pool_folded._layout import (
    GROUP_MAPS,
    bands_of,
    divides,
    folded,
    groups_of,
    slabs_of,
    strips_of,
    tile_of,
)
from rooftile.strategies.gpu import Config, Step, Tunable

_MOST_REGISTERS = 255
BANDS = (40, 20, 16, 10, 8, 4, 2, 1)

BAND_TUNABLES = (
    Tunable("BAND_ROWS", BANDS, 1),
    Tunable("LEAST_BLOCKS", (1, 2, 3, 4, 5, 6), 1),
    Tunable("SEGMENTS", (1, 2, 4, 5, 10), 1),
    Tunable("BUFFERS", (1, 2), 1),
)


class FloatFolded(PoolFolded):
    """Bands stay float32 in shared memory; two buffers overlap a band's copy with products."""

    source = "pool_folded_tf32"
    most_groups: int
    """Groups of maps that a block takes."""
    worth = 26 * 1024
    """A band's shared memory, up to which it grows: teams beside it hide its loads."""
    static_bytes = 0
    """Bytes of shared memory that the text declares itself, up to what aligns the rest."""
    axes: tuple[int, ...]
    """How the axes of folded weights lie in memory; see `folded`."""

    @abstractmethod
    def _shared_out(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Warps, and how they share out a band, for one of the given rows."""

    @abstractmethod
    def _held(self, problem: Conv2d, config: Config) -> int:
        """Registers that a thread needs."""

    @abstractmethod
    def _teams(self, config: Config) -> int:
        """How many teams a block has, each with bands of its own."""

    def _all_slabs(self, problem: Conv2d, config: Config) -> int:
        """Slabs for which there are weights, some of them zeros."""
        return slabs_of(problem)

    def _folded_bytes(self, problem: Conv2d, config: Config) -> int:
        """Bytes of the folded weights."""
        return 1024 * groups_of(problem) * self._all_slabs(problem, config)

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Bands of several rows, as many teams as find room, two buffers where both fit."""
        config = {tunable.name: tunable.default for tunable in self.tunables}
        sizes = (rows for rows in BANDS if rows <= problem.output_size[0])
        worth = (rows for rows in sizes if _band_bytes(problem, rows) <= self.worth)
        config["BAND_ROWS"] = next(worth, 1)
        config |= self._shared_out(problem, config)
        for resident in (2, 3, 4):
            if self.invalid(problem, config | {"LEAST_BLOCKS": resident}) is None:
                config["LEAST_BLOCKS"] = resident
        return config

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Too many registers, too much shared memory, segments that are not whole."""
        warps, resident = config["WARPS"], config["LEAST_BLOCKS"]
        if groups_of(problem) > self.most_groups:
            return f"{problem.maps} maps a block, where {GROUP_MAPS * self.most_groups} fit"
        held = self._held(problem, config)
        if held > min(_MOST_REGISTERS, self.machine.register_room(32 * warps * resident)):
            return f"{resident} blocks of {warps} warps of {held} registers a thread"
        if not divides(config, config["SEGMENTS"]):
            return f"{config['SEGMENTS']} segments of unequal length"
        shared = self._block_bytes(problem, config) + self.static_bytes
        if shared > self.machine.shared_room(resident if self.wgmma else 1):
            return f"{shared} bytes of shared memory a block"
        return None

    def _block_bytes(self, problem: Conv2d, config: Config) -> int:
        bands = self._teams(config) * config["BUFFERS"] * _band_bytes(problem, config["BAND_ROWS"])
        return bands + (self._folded_bytes(problem, config) if self.wgmma else 0)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """The macros of all, those that a rung has no tunable for, and how bands lie in shared
        memory."""
        absent = {"AHEAD": 0, "CHAINS": 1, "RUN": 0}
        lie = {"ELEMENT_BYTES": 4, **tile_of(problem, config["BAND_ROWS"], 4)}
        lie |= {"OWN_BANDS": int(self.wgmma)}
        return {**absent, **super().macros(problem, config), **lie}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """The folded weights in the rung's order; behind them the weights as `tap` wants them."""
        ordered = folded(problem, weights).transpose(self.axes).ravel()
        spare = self._folded_bytes(problem, config) // 4 - ordered.size
        return np.concatenate([np.pad(ordered, (0, spare)), weights.ravel()])

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """The weights as `pack` orders them, rounded."""
        return {self.prepared: self._packed_size(problem, config)}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """Rounds the weights."""
        return (rounding("weights", self.prepared, self._packed_size(problem, config)),)

    def _packed_size(self, problem: Conv2d, config: Config) -> int:
        return self._folded_bytes(problem, config) // 4 + math.prod(
            problem.parameter_shapes["weights"]
        )


class WarpsFolded(FloatFolded):
    """Weights and patches in registers, for few channels; the warps of a block share a band."""

    most_groups = MOST_WARPS
    warps = Tunable("WARPS", (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16), 4)
    block_bands = Tunable("BLOCK_BANDS", (1, 2, 4, 8, 16), 1)

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
        """What no such rung can run, and warps that do not share out the maps evenly."""
        groups, warps = groups_of(problem), config["WARPS"]
        if groups <= self.most_groups and warps % groups:
            return f"{warps} warps for {groups} groups of four maps"
        return super().invalid(problem, config)

    def _teams(self, config: Config) -> int:
        return 1

    def _grid(self, problem: Conv2d, config: Config) -> int:
        return blocks(bands_of(problem, config), config["BLOCK_BANDS"])


class WarpgroupsFolded(FloatFolded):
    """Weights in shared memory; persistent blocks, whose warpgroups have bands of their own."""

    wgmma = True
    most_groups = 8
    architectures = ("sm_90",)
    warps = Tunable("WARPS", (4, 8, 12, 16), 4)

    def _teams(self, config: Config) -> int:
        return config["WARPS"] // 4

    def _grid(self, problem: Conv2d, config: Config) -> int:
        resident = self.machine.multiprocessors * config["LEAST_BLOCKS"]
        return min(resident, blocks(bands_of(problem, config), self._teams(config)))


def _band_bytes(problem: Conv2d, rows: int) -> int:
    return 4 * problem.channels * tile_of(problem, rows, 4)["TILE_SIZE"]
