"""Rungs in 16 bits by ``mma.sync``, for GPUs of compute capability 8.0 and later. Source: Dumoulin,
Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 4 (transposed
convolution); NVIDIA, "Parallel Thread Execution ISA", on ``mma`` and ``ldmatrix``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.cores import CORES, MmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.conv2d_input_gradient.gpu.naive import GpuInputGradient, arguments_of

_PAIRS, _BANDS = 4, 4
"""A warp's pairs of pixels: this number across, in this number of bands of rows."""
_FULL = 8
"""Warps of a block that keep tensor cores busy."""
_GROUP = 16
"""Maps of an instruction."""
_UNIT = 16
"""Bytes that eight maps' gradients of an output take."""
_CHANNELS = 4
_MOST_HELD = 16
"""Gradients of a thread, in its registers with their places."""
_MOST_ROWS = 16
"""Rows of a mask, by the registers of a column of its taps."""


class SpreadWinners(MmaStrategy, GpuInputGradient):
    """Takes argmax gradients of windows that do not overlap; an image's gradients fit shared
    memory."""

    name = "mma_{precision}"
    summary = "argmax gradients among zeros, pairs of pixels on tensor cores, numbers in {numbers}"
    takes = features("before:relu padding pool:max")

    stores: ClassVar[Mapping[str, str]] = {
        **GpuInputGradient.stores,
        "X_NARROW": "x:narrow",
        "OUT_NARROW": "dx:narrow",
        "DY_NARROW": "dy:narrow",
    }
    tunables = (
        Tunable("WARPS", (2, 4, 5, 8, 10), 8),
        Tunable("BLOCKS", (1, 2, 3), 2),
        Tunable("BAND", (2, 4, 5, 8, 10), 5),
    )

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        """Gradients of all outputs, windows that overlap, strides, high masks, images beyond shared
        memory, and slopes that a rounded x changes."""
        pool = problem.pool
        if pool is None or any(s < w for s, w in zip(pool.stride, pool.window, strict=True)):
            return "it is for max-pools whose windows do not overlap"
        if (high := problem.mask[0]) > _MOST_ROWS:
            return f"a mask has {high} rows, {_MOST_ROWS} at most"
        return self.invalid(problem, {**self.defaults(problem), "BLOCKS": 1})

    def defaults(self, problem: Conv2dInputGradient) -> dict[str, int]:
        """Bands that read few rows of gradients, but leave a tile to each of many warps; two blocks
        where they fit."""
        bands = next(t for t in self.tunables if t.name == "BAND").values
        full = [band for band in bands if _tiles(problem, band) >= _FULL]

        def read(band: int) -> int:
            return _tiles(problem, band) * (band + problem.mask[0] - 1)

        band = min(full or bands[:1], key=read)
        tiles = _tiles(problem, band)
        warps = next((w for w in (10, 8, 5) if tiles % w == 0), 8 if tiles > 4 else 4)
        found = {"WARPS": warps, "BLOCKS": 2, "BAND": band}
        return {**found, "BLOCKS": 1} if self.invalid(problem, found) else found

    def invalid(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        shared, room = _shared(problem, config), self.machine.shared_room(config["BLOCKS"])
        if shared > room:
            return f"{shared} bytes of shared memory, {room} for a block"
        winners = problem.arrays[0].size // problem.batch
        if (held := blocks(winners, 32 * config["WARPS"])) > _MOST_HELD:
            return f"{held} gradients of a thread, {_MOST_HELD} at most"
        return None

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        rows, pitch = _plane(problem, config["BAND"])
        cores = CORES[self.precision].word
        lie: dict[str, int | str] = {"CORES": cores, "PLANE_ROWS": rows, "PITCH": pitch}
        return {**super().macros(problem, config), **lie}

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        across = min(problem.batch, self.machine.multiprocessors * config["BLOCKS"])
        grid, shared = (across, blocks(problem.channels, _CHANNELS), 1), _shared(problem, config)
        threads = 32 * config["WARPS"], 1, 1
        launch = Launch(self.kernel(), grid, threads, shared, overlaps=True)
        return (Step(launch, (*arguments_of(problem), problem.batch)),)


def _tiles(problem: Conv2dInputGradient, band: int) -> int:
    """Tiles of pixels, each a warp's."""
    return blocks(problem.width, 2 * _PAIRS) * blocks(problem.height, _BANDS * band)


def _plane(problem: Conv2dInputGradient, band: int) -> tuple[int, int]:
    """Rows, and units in a row of a column's parity, of eight maps' gradients. Pairs of
    neighbouring bands lie half of the banks apart where they can."""
    (above, left), (high, wide) = problem.padding, problem.mask
    down, across = _BANDS * band, 2 * _PAIRS
    rows = blocks(problem.height, down) * down + above + high - 1
    columns = blocks(problem.width, across) * across + left + wide
    least = blocks(max(columns, problem.width + 2 * left), 2)
    apart = (pitch for pitch in range(least, least + 8) if band * pitch % 8 == 4)
    return max(rows, problem.height + 2 * above), next(apart, least)


def _shared(problem: Conv2dInputGradient, config: Config) -> int:
    """Bytes of an image's gradients among zeros, and of the masks as they are multiplied."""
    (rows, pitch), groups = _plane(problem, config["BAND"]), blocks(problem.maps, _GROUP)
    masks = groups * (problem.mask[1] + 1) * problem.mask[0] * 32 * 8
    return groups * 2 * 2 * rows * pitch * _UNIT + masks


STRATEGIES = family(SpreadWinners(), "fp16", "bf16")
