"""The gradient of images on Hopper's warpgroups.

Source: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 4
(transposed convolution); Scherer, Müller, Behnke, "Evaluation of Pooling Operations in
Convolutional Architectures", ICANN 2010 (only the argmax has a gradient); Mishra and others,
"Accelerating Sparse Deep Neural Networks", 2021 (two of four terms); NVIDIA, "Parallel Thread
Execution ISA", on ``wgmma``; for the split products Ootomo and Yokota, "Recovering single precision
accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36
(2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.cores import WgmmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.storage import item_bytes
from rooftile.strategies.common.warpgroups import (
    elements,
    too_short,
    wgmma_fence,
    wgmma_sparse,
    wgmma_wait,
)
from rooftile.strategies.contract.gpu import Config, Step, family
from rooftile.strategies.conv2d_input_gradient.gpu.naive import GpuInputGradient, arguments_of

_TILE = 8
"""Windows of a product, across and down."""
_MOST_POSITIONS = 16
"""Of a window, by the bits that tell its argmax."""
_MOST_SUMS = 200
"""Of a thread, in its registers."""
_GROUP = 16
"""Maps that a product takes together."""
_CHANNELS = 4
"""Of a block."""
_GROUPS_OF_THREADS = 2
_STATIC = 256
"""Bytes of shared memory that all problems have."""
_LINE, _BANKS = 16, 128
"""Bytes of a line, and of all banks."""


class Warpgroups(WgmmaStrategy, GpuInputGradient):
    """Takes argmax gradients of windows that do not overlap, eight by eight of an image at most."""

    name = "warpgroups_{precision}"
    summary = "whole windows by warpgroups, in whose registers they are summed, in {numbers}"
    stores: ClassVar[Mapping[str, str]] = {
        **GpuInputGradient.stores,
        "X_NARROW": "x:narrow",
        "OUT_NARROW": "dx:narrow",
        "DY_NARROW": "dy:narrow",
    }
    numbers = 1
    """Of the cores, for a gradient and for a weight."""
    scaled = False
    """True if powers of two scale them."""

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        pool = problem.pool
        if pool is None or pool.stride != pool.window:
            return "it is for max-pools whose windows do not overlap"
        down, across = pool.window
        if across not in (2, 4) or down * across > _MOST_POSITIONS:
            return (
                f"windows of {pool.window}: it takes those of 2 or 4 columns, 16 positions at most"
            )
        if max(problem.layer.output_size) > _TILE:
            return f"{problem.layer.output_size} windows, {_TILE} by {_TILE} at most"
        if (high := problem.mask[0]) > 2 * down + 1:
            return f"a mask of {high} rows reaches beyond the next warp's windows"
        if (sums := 2 * _lines(problem) * _side(problem)) > _MOST_SUMS:
            return f"{sums} sums of a thread, {_MOST_SUMS} at most"
        return self.invalid(problem, {})

    def invalid(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        size = item_bytes(problem, "dx")
        if problem.height * problem.width * size % _LINE:
            return f"{problem.height} x {problem.width} pixels are no whole lines of {_LINE} bytes"
        room = self.machine.shared_room(1) - self._static_bytes(problem)
        shared = self._shared(problem, config)
        return f"{shared} bytes of shared memory, {room} for a block" if shared > room else None

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        gradients, places = _given_pitches(problem)
        return {
            **super().macros(problem, config),
            "CORES": self.cores.word,
            "SCALED": int(self.scaled),
            "SPLIT": self.numbers - 1,
            "SIDE": _side(problem),
            "GIVEN_PITCH": gradients,
            "PLACES_PITCH": places,
            "TILE_PITCH": _tile_bytes(problem) // item_bytes(problem, "dx"),
            "LINE_PITCH": _line_pitch(problem),
            "MASKS_BYTES": self._masks_bytes(problem),
            "GIVEN_BYTES": _given_bytes(problem),
            "LINES_BYTES": _lines_bytes(problem),
            "ROOM_BYTES": _room_bytes(problem),
            **self._products(problem),
        }

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        pairs = blocks(problem.batch, _GROUPS_OF_THREADS)
        across = min(pairs, self.machine.multiprocessors)
        grid, shared = (
            (across, blocks(problem.channels, _CHANNELS), 1),
            self._shared(problem, config),
        )
        threads = 128 * _GROUPS_OF_THREADS, 1, 1
        launch = Launch(self.kernel(), grid, threads, shared, overlaps=True)
        return (Step(launch, (*arguments_of(problem), problem.batch)),)

    def _products(self, problem: Conv2dInputGradient) -> dict[str, int | str]:
        """Sparse ones: for a row of pixels; and for a pair of columns in those rows that all
        positions of a window reach."""
        assert problem.pool is not None
        a, names = elements("(a)", 4), ("(high)", "(low)")[: self.numbers]
        held = [*(one for name in names for one in elements(name, 4)), "places"]
        line = [f"sum[i][{k}]" for k in range(2 * _side(problem))]
        lines = range(problem.pool.window[0] - 1, problem.mask[0])
        middle = [f"sum[{i}][4 * (d) + {k}]" for i in lines for k in range(4)]

        def multiply(sums: list[str]) -> str:
            return wgmma_sparse(self.cores, sums, a, "b", "places", "adds")

        every = elements("sum", _lines(problem), 2 * _side(problem))
        return {
            "MULTIPLY_LINE(i, a, b, places, adds)": multiply(line),
            "MULTIPLY_MIDDLE(d, a, b, places, adds)": multiply(middle) if middle else "(void)0",
            "WGMMA_FENCE(high, low, places)": wgmma_fence((), held),
            "WGMMA_WAIT_FOR(later, high, low, places)": wgmma_wait((), "later", held),
            "WGMMA_WAIT_FOR_SUMS": wgmma_wait(every, "0"),
        }

    def _masks_bytes(self, problem: Conv2dInputGradient) -> int:
        """Of the masks, for two positions at a time."""
        assert problem.pool is not None
        columns = problem.mask[0] * 4 * _side(problem)
        terms = blocks(problem.maps, _GROUP) * _GROUP * self.cores.bytes
        return self.numbers * problem.pool.window[1] * terms * columns

    def _static_bytes(self, problem: Conv2dInputGradient) -> int:
        """Of shared memory whose size the text says itself: bits that say which weights, and
        gradients of both images, are small; and others."""
        weights = _CHANNELS * problem.maps * math.prod(problem.mask)
        gradients = 2 * problem.maps * math.prod(problem.layer.output_size)
        return _STATIC + blocks(weights, 32) * 4 + blocks(gradients, 32) * 4

    def _shared(self, problem: Conv2dInputGradient, config: Config) -> int:
        """Bytes of the masks, of two images' gradients of each warpgroup, and of its rows of pixels
        and tile, where weights lie for a while."""
        weights = _CHANNELS * problem.maps * math.prod(problem.mask) * 4
        rooms = max(_GROUPS_OF_THREADS * _room_bytes(problem), weights)
        given = 2 * _GROUPS_OF_THREADS * _given_bytes(problem)
        return self._masks_bytes(problem) + given + rooms


def _side(problem: Conv2dInputGradient) -> int:
    """Columns of pixels that a window reaches, in whole pairs."""
    assert problem.pool is not None
    return blocks(problem.pool.window[1] + problem.mask[1] - 1, 2) * 2


def _lines(problem: Conv2dInputGradient) -> int:
    """Rows of pixels that a window reaches."""
    assert problem.pool is not None
    return problem.pool.window[0] + problem.mask[0] - 1


def _given_pitches(problem: Conv2dInputGradient) -> tuple[int, int]:
    """Numbers from a map's gradients, and places, to the next one's: whole lines, one more than an
    even number, so that the lanes of a load meet different banks."""
    count = math.prod(problem.layer.output_size)

    def pitch(size: int) -> int:
        lines = blocks(count * size, _LINE)
        return (lines + 1 - lines % 2) * _LINE // size

    return pitch(item_bytes(problem, "dy")), pitch(item_bytes(problem, "where"))


def _given_bytes(problem: Conv2dInputGradient) -> int:
    """Of an image's gradients and places."""
    gradients, places = _given_pitches(problem)
    size, wide = item_bytes(problem, "dy"), item_bytes(problem, "where")
    return problem.maps * (gradients * size + places * wide)


def _line_pitch(problem: Conv2dInputGradient) -> int:
    """Columns of pixels that a row of windows reaches, in whole fours."""
    assert problem.pool is not None
    return blocks((_TILE - 1) * problem.pool.window[1] + _side(problem), 4) * 4


def _lines_bytes(problem: Conv2dInputGradient) -> int:
    """Of the rows of pixels that warps' windows bring to the next warp's."""
    return (problem.mask[0] - 1) * 4 * _CHANNELS * _line_pitch(problem) * 4


def _tile_bytes(problem: Conv2dInputGradient) -> int:
    """From a channel of an image to the next: they begin a quarter of the banks apart."""
    least = problem.height * problem.width * item_bytes(problem, "dx")
    return least + (_BANKS // 4 - least) % _BANKS


def _room_bytes(problem: Conv2dInputGradient) -> int:
    """Of a warpgroup's rows of pixels and tile."""
    tile = _CHANNELS * _tile_bytes(problem)
    return blocks(_lines_bytes(problem) + tile, _BANKS) * _BANKS


class WarpgroupsTf32(Warpgroups):
    """Gradients and weights rounded to TF32, whose 11 bits scaled numbers of float16 have; sums in
    float32."""

    name = "warpgroups_tf32"
    multiplied = "fp16"
    precision = "tf32"
    scaled = True
    summary = "whole windows by warpgroups, TF32 as scaled float16, every other term skipped"


class WarpgroupsIeee(Warpgroups):
    """A number is split in two of float16, and three sparse products stand for one."""

    name = "warpgroups_ieee"
    multiplied = "fp16"
    numbers = 2
    scaled = True
    summary = (
        "whole windows by warpgroups, float32 as two numbers of float16, every other term skipped"
    )

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        return super().limits(problem) or too_short(problem.reduction)


STRATEGIES = (*family(Warpgroups(), "fp16", "bf16"), WarpgroupsTf32(), WarpgroupsIeee())
