"""`pointwise`: a mask of a single tap makes a matrix product, maps x pixels.

`map_vectors` has neighbouring maps in a vector, and reads a pixel's channels an image plane apart.
Here the lanes are neighbouring pixels: a tile of them is copied, channel after channel, into panels
in cache, which then all maps multiply. A vector of pixels is a vector of results as it is, so that
nothing is transposed. Weights are packed woven, six maps of each channel adjacent.

Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
ACM Trans. Math. Softw. 34 (2008).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, vector
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate_row
from rooftile.strategies.common.panels import ROW
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy
from rooftile.strategies.contract.cpu_kernel import KernelPacking
from rooftile.strategies.conv2d.cpu._pointwise_source import (
    HEIGHT,
    STEP,
    generate,
    scratch_size,
    weaving,
)

_UNITS = 16
"""Units of work that suffice for some cores; an image with fewer tiles has its maps in parts."""
_LEAST_MAPS = 48
"""Of a part; fewer would not pay for filling panels."""


class Pointwise(CpuStrategy):
    """Takes problems whose outputs have one input of each channel, every pixel's."""

    operation = "conv2d"
    name = "pointwise"
    summary = "masks of a single tap: panels of pixels, filled in cache, multiplied by woven maps"
    takes = features("activation:*")

    def limits(self, problem: Conv2d) -> str | None:
        return None if problem.mask == (1, 1) else "it takes masks of a single tap"

    def work(self, problem: Conv2d) -> Work:
        """See `Strategy.work`: woven maps and panels of pixels are multiplied whole."""
        maps, pixels = -(-problem.maps // HEIGHT) * HEIGHT, problem.height * problem.width
        filled = maps / problem.maps * -(-pixels // ROW) * ROW / pixels
        work = super().work(problem)
        return replace(work, flops=filled * work.flops)

    def kernel(self, problem: Conv2d) -> CpuKernel:
        return _kernel(problem.with_batch(1), min(problem.batch, _UNITS))


STRATEGY = Pointwise()


@last_kernels
def _kernel(p: Conv2d, images: int) -> CpuKernel:
    blocks, pixels = -(-p.maps // HEIGHT), p.height * p.width
    tiles, most = -(-pixels // ROW), max(1, p.maps // _LEAST_MAPS)
    part = -(-blocks // min(most, -(-_UNITS // (tiles * images)))) * HEIGHT
    parts = -(-p.maps // part)
    step = -(-p.channels // -(-p.channels // STEP))
    return CpuKernel(
        source(
            "pointwise", generate(vector.lanes()), {"activate_row": activate_row},
            lanes=vector.lanes(), passes="simplify",
        ),
        units=lambda images: images * tiles * parts,
        pack=lambda weights, into, threads: _pack(weights, into, step, threads),
        packing=_packing_of(p.maps, p.channels, step),
        packed=blocks * HEIGHT * p.channels,
        scratch=scratch_size(),
        sizes=(p.channels, pixels, p.maps, step, part, ACTIVATION_CODES[p.activation]),
    )  # fmt: skip


def _pack(weights: Float32, into: Float32, step: int, threads: int) -> None:
    """Weave the weights."""
    maps = weights.shape[0]
    packing = _packing_of(maps, weights.size // maps, step)
    packing.fill(np.ascontiguousarray(weights), into, threads)


def _packing_of(maps: int, channels: int, step: int) -> KernelPacking:
    """The kernel that does the same as `_pack`."""
    return KernelPacking(_weaving(), -(-maps // HEIGHT), cpu.sizes_of(channels, maps, step))


@cache
def _weaving() -> cpu.Spread:
    lanes = vector.lanes()
    text = source("pointwise_weaving", weaving(lanes), lanes=lanes, passes="simplify")
    return cpu.Spread(text, ("float32",) * 2)
