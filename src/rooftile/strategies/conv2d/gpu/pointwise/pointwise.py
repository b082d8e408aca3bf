"""Rungs for masks of one tap on tensor cores, by ``mma.sync``.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``mma``, ``ldmatrix`` and ``cp.async``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.common.cores import MOST_SUMMED
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.common.storage import is_last, is_narrow, item_bytes
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks
from rooftile.strategies.gemm.gpu.slices import (
    SlicedProduct,
    ThreeNumbers,
    piece_of,
    threads_of,
    tile_bytes,
    tile_of,
)


class Pointwise(SlicedProduct, GpuConv2d):
    """Takes masks of one tap without strides, ghost cells or pools."""

    name = "pointwise_{precision}"
    summary = "masks of one tap as a matrix product of images as they lie, in {numbers}"
    takes = features("activation:*")

    stores: ClassVar[Mapping[str, str]] = {
        "X_NARROW": "x:narrow",
        "OUT_NARROW": "out:narrow",
        "X_LAST": "x:channels_last",
        "OUT_LAST": "out:channels_last",
    }
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("WARP_R", (16, 32, 64), 64),
        Tunable("WARP_C", (16, 32, 64), 32),
        Tunable("WARPS_R", (1, 2), 1),
        Tunable("WARPS_C", (1, 2, 4, 8), 4),
        Tunable("STAGES", (2, 3, 4), 3),
        Tunable("BLOCKS", (1, 2, 3), 2),
    )

    def limits(self, problem: Conv2d) -> str | None:
        if (problem.mask, problem.stride, problem.padding) != ((1, 1), (1, 1), (0, 0)):
            return "it takes masks of one tap, without strides or ghost cells"
        if problem.pool is not None:
            return "it does not pool"
        if problem.channels > MOST_SUMMED:
            return f"the cores sum up to {MOST_SUMMED} products"
        return None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """All maps in a tile, up to 128; no more pixels than an image has."""
        rows = min(64, max(16, 1 << (problem.maps - 1).bit_length()))
        pixels = problem.height * problem.width
        tile = {
            "WARP_R": rows,
            "WARP_C": 32,
            "WARPS_R": 2 if problem.maps > 64 else 1,
            "WARPS_C": 4 if pixels > 64 else 2,
            "STAGES": 3,
            "BLOCKS": 2,
        }
        for change in ({}, {"STAGES": 2}, {"BLOCKS": 1}, {"WARPS_R": 1}):
            tile |= change
            if self.invalid(problem, tile) is None:
                break
        return tile

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        size = item_bytes(problem, "x")
        pixels = problem.height * problem.width
        last = is_last(problem, "x")
        return {
            **config,
            "CORES": self.cores.word,
            "NUMBERS": self.numbers,
            "CHANNELS": problem.channels,
            "PIXELS": pixels,
            "MAPS": problem.maps,
            "ACTIVATION": ACTIVATION_CODES[problem.activation],
            "TRANSPOSE_A": 0,
            "TRANSPOSE_B": int(last),
            "A_PIECE": piece_of(problem.channels, size),
            "B_PIECE": piece_of(problem.channels if last else pixels, size),
        }

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        weights = problem.maps * problem.channels
        return {"rounded": blocks(weights, 2)} if is_narrow(problem, "x") else {}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        if not is_narrow(problem, "x"):
            return ()
        return (rounding(self, "weights", "rounded", problem.maps * problem.channels),)

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        rows, columns = tile_of(config)
        pixels, images = problem.height * problem.width, problem.batch
        if is_last(problem, "x"):
            pixels, images = pixels * images, 1
        across = blocks(problem.maps, rows) * blocks(pixels, columns)
        grid = (across, min(images, MOST_BLOCKS), 1)
        shared = self.shared(problem, config)
        launch = Launch(self.kernel(), grid, (threads_of(config), 1, 1), shared)
        weights = "rounded" if is_narrow(problem, "x") else "weights"
        return (Step(launch, ("x", weights, "bias", "out", problem.batch)),)

    def shared(self, problem: Conv2d, config: Config) -> int:
        """Bytes of a block's stages, or of its results."""
        size, (rows, columns) = item_bytes(problem, "x"), tile_of(config)
        stage = tile_bytes(rows, True, size) + tile_bytes(columns, is_last(problem, "x"), size)
        last = is_last(problem, "out")
        kept = columns * (rows + 8) if last else rows * (columns + 4)
        return max(config["STAGES"] * stage, 4 * kept)


class PointwiseIeee(ThreeNumbers, Pointwise):
    """See `ThreeNumbers`."""

    name = "pointwise_ieee"
    summary = "masks of one tap as a matrix product, float32 as three numbers of bfloat16"


STRATEGIES = (*family(Pointwise(), "fp16", "bf16", "tf32"), PointwiseIeee())
