"""Pixels as rows on tensor cores, which all windows above share.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only the argmax has a gradient); NVIDIA, "Parallel Thread Execution ISA", on ``mma``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.cores import MmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.storage import item_bytes
from rooftile.strategies.common.winner_places import ragged
from rooftile.strategies.contract.gpu import Config, Tunable, family
from rooftile.strategies.conv2d_weights_gradient.gpu._base import (
    GpuWeightsGradient,
    PartialSums,
    given_pitch,
)

_BLOCK_MAPS = 4
_MOST_POSITIONS = 16
"""Of a window, whose gradients a lane holds in registers for all of them."""
_REACH = 8
"""Columns of pixels from a window's corner on that are rows of a product."""
_STRIP = 8
"""Adjacent windows that a warp multiplies."""
_MOST_WARPS = 32
_MOST_SEGMENTS = 4
_MOST_REGISTERS = 255
_OTHERS = 48
"""Registers of a thread besides its sums and gradients."""
_LINE = 16
"""Bytes on whose multiples what is copied begins."""


class Turned(MmaStrategy, PartialSums):
    """Takes argmax gradients of windows with even sides that do not overlap, and masks of a few
    columns."""

    name = "turned_{precision}"
    mends = True
    summary = "pixels as rows on tensor cores, which all windows above share, in {numbers}"
    stores: ClassVar[Mapping[str, str]] = {
        **GpuWeightsGradient.stores,
        "X_NARROW": "x:narrow",
        "DY_NARROW": "dy:narrow",
    }
    scaled = 0
    """1 if gradients are scaled to float16's range."""
    wishes: ClassVar[tuple[Config, ...]] = (
        {"BLOCKS": 4, "STAGES": 1},
        {"BLOCKS": 3},
        {"BLOCKS": 2},
    )
    """Preferred configs, of which the first that runs is taken: blocks' copies and products
    overlap."""
    tunables = (
        Tunable("SEGMENTS", (1, 2, _MOST_SEGMENTS), 1),
        Tunable("BLOCKS", (1, 2, 3, 4, 6), 1),
        Tunable("STAGES", (1, 2, 3, 4), 2),
    )

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        """Windows that overlap, or have odd sides or many positions; strides; wide masks; rows of
        windows that are no pairs; images beyond shared memory."""
        pool = problem.pool
        if pool is None or pool.stride != pool.window:
            return "it is for max-pools whose windows do not overlap"
        if any(side % 2 for side in pool.window):
            return f"windows of {pool.window} have an odd side"
        if math.prod(pool.window) > _MOST_POSITIONS:
            return f"a window has {math.prod(pool.window)} positions, {_MOST_POSITIONS} at most"
        if (reach := problem.mask[1] + pool.window[1] - 1) > _REACH:
            return f"a window's masks meet {reach} columns, {_REACH} at most"
        if (columns := problem.layer.output_size[1]) % 2:
            return f"rows of {columns} windows are no whole pairs"
        return self.invalid(problem, self._least(problem))

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        return self._filled(problem, self._least(problem), {})

    def config(self, problem: Conv2dWeightsGradient, given: Config | None = None) -> dict[str, int]:
        """See `Strategy.config`; arrays of fewer bits leave room for more blocks."""
        values = {**super().config(problem, given), **self._least(problem), **(given or {})}
        return self._filled(problem, values, given or {})

    def _filled(
        self, problem: Conv2dWeightsGradient, config: Config, given: Config
    ) -> dict[str, int]:
        """The first of the wishes that goes and is not at odds with what is given; one block alone
        has twice the warps, where it may."""

        def agree(wish: Config) -> bool:
            return given.get("BLOCKS", wish["BLOCKS"]) == wish["BLOCKS"]

        alone = {"BLOCKS": 1, "SEGMENTS": min(2 * config["SEGMENTS"], _MOST_SEGMENTS)}
        wishes = ({**config, **more, **given} for more in (*self.wishes, alone) if agree(more))
        valid = (wish for wish in wishes if self.invalid(problem, wish) is None)
        return next(valid, {**config})

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        size = item_bytes(problem, "x")
        odd = problem.width | problem.padding[1]
        if size == 2 and odd % 2:
            return (
                f"rows of {problem.width} pixels of 16 bits, {problem.padding[1]} zeros beside "
                "them: no whole words"
            )
        if reason := ragged(problem):
            return reason
        if (warps := _warps(problem, config)) > _MOST_WARPS:
            return f"{warps} warps, {_MOST_WARPS} at most"
        threads = 32 * warps * config["BLOCKS"]
        words = self.cores.bytes
        room = min(_MOST_REGISTERS, self.machine.register_room(threads))
        if (registers := _registers(problem, words)) > room:
            return f"{registers} registers of a thread, {room} at most"
        shared, most = _shared(problem, config), self.machine.shared_room(config["BLOCKS"])
        return f"{shared} bytes of shared memory, {most} for a block" if shared > most else None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        return {
            **super().macros(problem, config),
            "WARPS": _warps(problem, config),
            "PITCH": _pitch(problem),
            "PIXEL_BYTES": _pixel_bytes(problem, config),
            "STAGE_BYTES": _stage_bytes(problem, config),
            "GIVEN_PITCH": given_pitch(problem),
            "CORES": self.cores.word,
            "SCALED": self.scaled,
        }

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        grid = (self.rows(problem, config), *_beside(problem))
        block, shared = (32 * _warps(problem, config), 1, 1), _shared(problem, config)
        return Launch(self.kernel(), grid, block, shared, overlaps=True)

    def _least(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """The config with the least registers and shared memory, with a few warps at least."""
        strips = blocks(problem.layer.output_size[1], _STRIP)
        segments = next(n for n in (1, 2, 4) if n * strips >= 4 or n == _MOST_SEGMENTS)
        return {"SEGMENTS": segments, "BLOCKS": 1, "STAGES": 2}

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        resident = self.machine.multiprocessors * config["BLOCKS"]
        return min(problem.images, max(1, resident // math.prod(_beside(problem))))


def _warps(problem: Conv2dWeightsGradient, config: Config) -> int:
    """One for each strip of each segment."""
    return blocks(problem.layer.output_size[1], _STRIP) * config["SEGMENTS"]


def _pairs(problem: Conv2dWeightsGradient) -> tuple[int, int]:
    """Pairs of rows of pixels that a window's masks meet, and rows of windows that meet a pair."""
    assert problem.pool is not None
    high = problem.pool.window[0]
    pairs = (problem.mask[0] + high) // 2
    return pairs, blocks(pairs, high // 2)


def _tiles(problem: Conv2dWeightsGradient) -> int:
    """Adjacent products: two positions each."""
    assert problem.pool is not None
    return math.prod(problem.pool.window) // 2


def _registers(problem: Conv2dWeightsGradient, words: int) -> int:
    """Registers of a thread: sums, the gradients that it keeps, ``words`` words in a tile, and
    others."""
    pairs, depth = _pairs(problem)
    return _tiles(problem) * (4 * pairs + words * depth) + _OTHERS


def _pitch(problem: Conv2dWeightsGradient) -> int:
    """From a row of pixels to the next: zeros between them are behind the one, before the other."""
    return blocks(problem.width + problem.padding[1], 2) * 2


def _pixel_bytes(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Bytes of a channel's pixels, as far as whole strips and segments of windows meet them."""
    assert problem.pool is not None
    rows, columns = problem.layer.output_size
    down, across = problem.pool.window
    segments, pitch = 2 * config["SEGMENTS"], _pitch(problem)
    met = blocks(rows, segments) * segments + _pairs(problem)[1] - 1
    beyond = blocks(columns, _STRIP) * _STRIP * across + _REACH - pitch
    there = problem.height + problem.padding[0]
    count = max(met * down, there) * pitch + max(beyond, 0)
    return blocks(count * item_bytes(problem, "x"), _LINE) * _LINE


def _stage_bytes(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Bytes of an image's pixels, gradients and places."""
    gradient, place = item_bytes(problem, "dy"), item_bytes(problem, "where")
    given = _BLOCK_MAPS * given_pitch(problem) * (gradient + place)
    return _pixel_bytes(problem, config) + blocks(given, _LINE) * _LINE


def _shared(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Bytes of the stages; or of each warp's sums, to be joined."""
    joined = _warps(problem, config) * _pairs(problem)[0] * 16 * 8 * _tiles(problem)
    return max(config["STAGES"] * _stage_bytes(problem, config), 4 * joined)


def _beside(problem: Conv2dWeightsGradient) -> tuple[int, int]:
    """Blocks that share out an image: by channels, and by maps."""
    return problem.channels, blocks(problem.maps, _BLOCK_MAPS)


class TurnedTf32(Turned):
    """Gradients and pixels rounded to TF32, sums in float32."""

    name = "turned_tf32"
    precision = "tf32"
    wishes = (
        {"BLOCKS": 4, "STAGES": 1},
        {"BLOCKS": 3, "STAGES": 1},
        {"BLOCKS": 2},
        {"BLOCKS": 2, "STAGES": 1},
    )
    """Images take twice the room: one stage of each block leaves some for more blocks."""
    summary = "pixels as rows on tensor cores, which all windows above share, in TF32"


class TurnedTf32InFloat16(Turned):
    """TF32 by float16's instructions: x is stored as float16, gradients are scaled to its range."""

    name = "turned_tf32_in_fp16"
    alike = "turned_fp16"
    multiplied = "fp16"
    precision = "tf32"
    narrow = "fp16"
    scaled = 1
    stores: ClassVar[Mapping[str, str]] = {**GpuWeightsGradient.stores, "X_NARROW": "x:narrow"}
    requires = features("storage:x:float16")


STRATEGIES = (*family(Turned(), "fp16", "bf16"), TurnedTf32(), TurnedTf32InFloat16())
