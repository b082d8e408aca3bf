"""Rungs that fold the pool on Hopper's warpgroups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

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
    whole_segments,
)
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.common.storage import is_narrow, item_bytes
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.conv2d.gpu.pool_folded._base import PoolFolded
from rooftile.strategies.conv2d.gpu.pool_folded._float import BANDS

_OTHERS = 56
"""Registers for addresses, loops, results and what scales them."""
_MOST_REGISTERS = 255
_WORTH = 26 * 1024
"""Bytes of a band in float32 up to which it grows."""
_LEAST_ROWS = 4
"""Of a band of few images: each brings rows of the image that the next one brings too."""


class WarpgroupsFolded(PoolFolded):
    """Weights in shared memory; persistent blocks, whose warpgroups have bands of their own.

    [slabs][2 rows of a slab][groups][2 rows of windows][8 columns][8 deep]
    """

    name = "pool_folded_wgmma_{precision}"
    summary = "its products by warpgroups, weights in shared memory, inputs in {numbers}"
    source = "pool_folded_wgmma"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "x:narrow", "OUT_NARROW": "out:narrow"}
    wgmma = True
    architectures = ("sm_90",)
    most_slabs = 20
    most_groups = 6
    """Groups of maps whose sums a thread holds."""
    numbers = 1
    """Numbers of 16 bits that stand for one."""
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("BAND_ROWS", BANDS, 1),
        Tunable("LEAST_BLOCKS", (1, 2), 1),
        Tunable("SEGMENTS", (1, 2, 4, 5, 10), 1),
        Tunable("WARPS", (4, 8, 12), 4),
    )

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Bands of several rows, strips for whole warpgroups, and as many of them as find room."""
        config = {tunable.name: tunable.default for tunable in self.tunables}
        shapes = [
            {"BAND_ROWS": rows, "SEGMENTS": segments}
            for rows in BANDS
            if rows <= problem.output_size[0]
            for segments in whole_segments(problem, {"BAND_ROWS": rows}, self._halves(problem))
        ]
        worth = [one for one in shapes if 4 * self._band_size(problem, one) <= _WORTH]
        whole = [one for one in worth if self._strips(problem) * one["SEGMENTS"] % 4 == 0]
        config |= self._of_few(problem, [*whole, *worth, shapes[-1]])
        teams = [{"WARPS": w, "LEAST_BLOCKS": n} for n in (1, 2) for w in (4, 8, 12)]
        valid = [one for one in teams if self.invalid(problem, config | one) is None]
        return config | max(valid, key=lambda one: one["WARPS"] * one["LEAST_BLOCKS"], default={})

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        groups, warps, resident = groups_of(problem), config["WARPS"], config["LEAST_BLOCKS"]
        if groups > self.most_groups:
            return f"{problem.maps} maps a block, where {GROUP_MAPS * self.most_groups} fit"
        held = self._held(problem)
        if held > min(_MOST_REGISTERS, self.machine.register_room(32 * warps * resident)):
            return f"{resident} blocks of {warps} warps of {held} registers a thread"
        if not divides(config, config["SEGMENTS"], self._halves(problem)):
            return f"{config['SEGMENTS']} segments of unequal length"
        # A few bytes are the text's own.
        shared = self._block_bytes(problem, config) + 128
        if shared > self.machine.shared_room(resident):
            return f"{shared} bytes of shared memory a block"
        return None

    def _of_few(self, problem: Conv2d, shapes: list[dict[str, int]]) -> dict[str, int]:
        """The first of bands' shapes or, where images are few, one whose bands leave no rest of an
        image, and no multiprocessor idle."""
        enough = self.machine.multiprocessors
        if bands_of(problem, shapes[0]) >= enough:
            return shapes[0]
        rows = problem.output_size[0]
        fewer = [s for s in shapes if s["BAND_ROWS"] >= _LEAST_ROWS and rows % s["BAND_ROWS"] == 0]
        many = (one for one in fewer if bands_of(problem, one) >= enough)
        return next(many, fewer[-1] if fewer else shapes[0])

    def _strips(self, problem: Conv2d) -> int:
        return strips_of(problem, self._halves(problem))

    def _held(self, problem: Conv2d) -> int:
        """Registers that a thread needs: a step's sums, patches, and the others."""
        return _OTHERS + 8 * groups_of(problem) + 4 * slabs_of(problem)

    def _grid(self, problem: Conv2d, config: Config) -> int:
        resident = self.machine.multiprocessors * config["LEAST_BLOCKS"]
        return min(resident, bands_of(problem, config))

    def _block_bytes(self, problem: Conv2d, config: Config) -> int:
        """The weights, and each team's band: as it is copied, and as it is multiplied."""
        number = 4 if is_narrow(problem, "x") else 4 + 2 * self.numbers
        bands = config["WARPS"] // 4 * number * self._band_size(problem, config)
        return 2 * self.numbers * self._folded_count(problem, config) + bands

    def _band_size(self, problem: Conv2d, config: Config) -> int:
        return problem.channels * self._tile(problem, config)["TILE_SIZE"]

    def _tile(self, problem: Conv2d, config: Config) -> dict[str, int]:
        size = item_bytes(problem, "x")
        return tile_of(problem, config["BAND_ROWS"], size, self._halves(problem))

    def _folded_count(self, problem: Conv2d, config: Config) -> int:
        """Number of folded weights, zeros of whole runs of slabs among them."""
        run = config.get("SUMMED", 1)
        return 256 * groups_of(problem) * blocks(slabs_of(problem), run) * run

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        lie = {"ELEMENT_BYTES": item_bytes(problem, "x"), "OWN_BANDS": 1}
        lie |= {"BUFFERS": 2, "NUMBERS": 1, "SUMMED": 1}
        return {**lie, **super().macros(problem, config), **self._tile(problem, config)}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        ordered = folded(problem, weights).transpose(2, 3, 4, 0, 7, 1, 8, 5, 6).ravel()
        return np.pad(ordered, (0, self._folded_count(problem, config) - ordered.size))

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        return {self.prepared: self._folded_count(problem, config) // 2}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        return (rounding(self, "weights", self.prepared, self._folded_count(problem, config)),)


STRATEGIES = family(WarpgroupsFolded(), "fp16", "bf16")
