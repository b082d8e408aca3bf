"""Rungs that fold the pooling window into a product's columns, with bands in float32."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32, rounded
from rooftile.strategies._warpgroups import MULTIPROCESSORS, SHARED_BYTES
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu._pool_folded import (
    PoolFolded,
    _tile,
    divides,
    patch_slabs,
    products,
    strips_of,
    whole_segments,
)
from rooftile.strategies.gpu import Config, Step, Tunable

_OLD_SHARED_BYTES = 99 * 1024
"""Of a block, on every GPU that knows TF32."""
_REGISTERS, _MOST_REGISTERS = 65536, 255
_OTHERS = 40
"""Registers for addresses, loops and results."""
_ENOUGH_BLOCKS = 2500
"""Of a grid: from here on a block may take several bands and overlap their loads."""
_BANDS = (40, 20, 16, 10, 8, 4, 2, 1)
_MOST_GROUPS = 8
"""Groups of four maps whose sums a thread of a warpgroup holds."""
_MOST_WARPS = 16

BAND_TUNABLES = (
    Tunable("BAND_ROWS", _BANDS, 1),
    Tunable("LEAST_BLOCKS", (1, 2, 3, 4, 5, 6), 1),
    Tunable("SEGMENTS", (1, 2, 4, 5, 10), 1),
    Tunable("BUFFERS", (1, 2), 1),
)
WARPGROUPS = Tunable("WARPS", (4, 8, 12, 16), 4)


class FloatFolded(PoolFolded):
    """What its rungs take: the weights where a thread or a block holds them."""

    source = "pool_folded_tf32"
    headers: ClassVar[tuple[str, ...]] = ("_formats.h", "_pool_folded.h")
    worth = 26 * 1024
    """A band's shared memory, up to which it grows: teams beside it hide its loads."""
    static_bytes = 0
    """Of shared memory, that the text declares itself, up to what aligns the rest."""

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Bands of several rows, as many teams as find room, two buffers where both fit."""
        config = {tunable.name: tunable.default for tunable in self.tunables}
        sizes = (rows for rows in _BANDS if rows <= problem.output_size[0])
        worth = (rows for rows in sizes if _band_bytes(problem, rows) <= self.worth)
        config["BAND_ROWS"] = next(worth, 1)
        config |= self._warpgroups(problem, config) if self.wgmma else self._warps(problem, config)
        for wish in ({"LEAST_BLOCKS": 2}, {"LEAST_BLOCKS": 3}, {"LEAST_BLOCKS": 4}):
            if self.invalid(problem, config | wish) is None:
                config |= wish
        return config

    def _warps(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """A warp for each strip or group of maps, several bands a block where there are many."""
        strips, groups = strips_of(problem), blocks(problem.maps, 4)
        share = max(w for w in range(1, max(1, 5 // groups) + 1) if strips % w == 0)
        chosen = {"WARPS": groups * share, "BUFFERS": 2}
        if self.invalid(problem, {**config, **chosen}):
            chosen["BUFFERS"] = 1
        for bands in (2, 4, 8):
            if self._grid(problem, {**config, "BLOCK_BANDS": bands}) >= _ENOUGH_BLOCKS:
                chosen["BLOCK_BANDS"] = bands
        return chosen

    def _warpgroups(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Strips for whole warpgroups, runs that leave little over, and as many as find room."""
        whole = whole_segments(problem, config)
        runs = [run for run in (4, 2, 1) if run <= config["RUN"]]
        runs.sort(key=lambda run: self._all_slabs(problem, {"RUN": run}))
        # Where a ring of patches fits, nothing is read again; its strips are short, since they
        # are written out.
        runs.insert(0, 0)
        wishes = (
            {"SEGMENTS": whole[0 if run else -1], "RUN": run, "WARPS": warps, "BUFFERS": buffers}
            for run in runs
            for warps in (12, 8, 4)
            for buffers in (2, 1)
        )
        valid = (wish for wish in wishes if self.invalid(problem, {**config, **wish}) is None)
        return next(valid, {"SEGMENTS": whole[0]})

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Registers, shared memory, warps that share out the maps, whole segments."""
        groups, warps, resident = blocks(problem.maps, 4), config["WARPS"], config["LEAST_BLOCKS"]
        most = _MOST_GROUPS if self.wgmma else _MOST_WARPS
        if groups > most:
            return f"{problem.maps} maps a block, where {4 * most} fit"
        if not self.wgmma and warps % groups:
            return f"{warps} warps for {groups} groups of four maps"
        held = self._held(problem, config)
        if held > min(_MOST_REGISTERS, _REGISTERS // (32 * warps * resident) // 8 * 8):
            return f"{resident} blocks of {warps} warps of {held} registers a thread"
        if not divides(config, config["SEGMENTS"]):
            return f"{config['SEGMENTS']} segments of unequal length"
        shared = self._shared(problem, config) + self.static_bytes
        if shared > (SHARED_BYTES // resident - 1024 if self.wgmma else _OLD_SHARED_BYTES):
            return f"{shared} bytes of shared memory a block"
        return None

    def _held(self, problem: Conv2d, config: Config) -> int:
        """Registers a thread needs: sums, patches read again or in a ring, weights."""
        groups, slabs = blocks(problem.maps, 4), patch_slabs(problem)
        if config.get("RUN"):
            return _OTHERS + 8 * groups + 16 * config["RUN"]
        ring = 8 * problem.channels * (slabs + config["AHEAD"])
        if self.wgmma:
            return _OTHERS + 8 * groups + ring
        return _OTHERS + 8 * config["CHAINS"] + ring + 8 * problem.channels * slabs

    def _teams(self, config: Config) -> int:
        """Of a block, each with bands of its own."""
        return config["WARPS"] // 4 if self.wgmma else 1

    def _packed(self, problem: Conv2d, config: Config) -> int:
        """Bytes of the folded weights."""
        return 1024 * blocks(problem.maps, 4) * self._all_slabs(problem, config)

    def _all_slabs(self, problem: Conv2d, config: Config) -> int:
        """Of a patch, up to an even number of runs."""
        pair = 2 * config.get("RUN", 0) or 1
        return blocks(problem.channels * patch_slabs(problem), pair) * pair

    def _shared(self, problem: Conv2d, config: Config) -> int:
        bands = self._teams(config) * config["BUFFERS"] * _band_bytes(problem, config["BAND_ROWS"])
        return bands + (self._packed(problem, config) if self.wgmma else 0)

    def _grid(self, problem: Conv2d, config: Config) -> int:
        bands = problem.batch * blocks(problem.output_size[0], config["BAND_ROWS"])
        if self.wgmma:
            resident = MULTIPROCESSORS * config["LEAST_BLOCKS"]
            return min(resident, blocks(bands, self._teams(config)))
        return blocks(bands, config["BLOCK_BANDS"])

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Sizes, tunables, and the layout of a band in shared memory."""
        macros: dict[str, int | str] = {"AHEAD": 0, "CHAINS": 1, "RUN": 0}
        macros |= GpuConv2d.macros(self, problem, config) | _tile_of(problem, config["BAND_ROWS"])
        macros |= {"ELEMENT_BYTES": 4, "WGMMA": int(self.wgmma), "OWN_BANDS": int(self.wgmma)}
        if self.wgmma:
            macros |= products(blocks(problem.maps, 4), self.precision)
        return macros

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[groups][slabs][2 rows of a slab][2 rows of positions][2 elements][32 lanes]; for
        warpgroups [whole runs of slabs][2 rows of a slab][2 elements][groups][2 rows of
        positions][8 columns][4 deep].  Behind them the weights as `tap` wants them."""
        nearest = rounded(weights, "tf32")
        order = (2, 3, 4, 6, 0, 7, 1, 8, 5) if self.wgmma else (0, 2, 3, 4, 7, 6, 1, 8, 5)
        ordered = folded_parts(problem, nearest).transpose(order).ravel()
        spare = self._packed(problem, config) // 4 - ordered.size
        return np.concatenate([np.pad(ordered, (0, spare)), nearest.ravel()])

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel: blocks over the bands of all images."""
        threads, shared = 32 * config["WARPS"], self._shared(problem, config)
        grid = (self._grid(problem, config), 1, 1)
        launch = Launch("conv2d", grid, (threads, 1, 1), shared)
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)


def folded_parts(problem: Conv2d, weights: Float32) -> Float32:
    """The weights at the four places of a window, zeros around them: [group of maps][map][channel]
    [slab][row][t][element 2t or 2t + 1][dy][dx]."""
    groups, slabs = blocks(problem.maps, 4), patch_slabs(problem)
    height, width = problem.mask
    folded = np.zeros((4 * groups, problem.channels, 2 * slabs, 8, 2, 2), np.float32)
    for dy in (0, 1):
        for dx in (0, 1):
            folded[: problem.maps, :, dy : dy + height, dx : dx + width, dy, dx] = weights
    return folded.reshape(groups, 4, problem.channels, slabs, 2, 4, 2, 2, 2)


def _tile_of(problem: Conv2d, rows: int) -> dict[str, int]:
    """Where a band of so many rows of results lies in shared memory, in float32."""
    return _tile(problem, {"BAND_ROWS": rows, "X_NARROW": 0})


def _band_bytes(problem: Conv2d, rows: int) -> int:
    return 4 * problem.channels * _tile_of(problem, rows)["TILE_SIZE"]
