"""`winograd`: fewer multiplications by Toom-Cook transforms; precision `fast`.

7x7 masks: four output rows at a time, transformed along the height only
(`_winograd_rows`: 2.8 times fewer multiplications).  3x3 and 5x5 masks: tiles of
4x4 outputs, transformed both ways (`_winograd_tiles`: 4 and 6.25 times fewer),
the sum over channels a matrix multiplication for each transformed position.

Transforms lose about one decimal digit, and an output's error depends on the
whole tile's magnitude: hence `fast`.  Where an input of a tile, or a weight, is
not finite, that tile is computed directly, so that NaN and infinity propagate
as IEEE says.

Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import last_kernels, source, vector
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.fused import activate, activate_row
from rooftile.strategies.contract.costs import Speeds
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy
from rooftile.strategies.conv2d.cpu import (
    _winograd_rows,
    _winograd_tiles,
    map_vectors,
    register_tile,
)
from rooftile.strategies.conv2d.cpu._epilogue import emit_band, folds
from rooftile.strategies.conv2d.cpu._toom_cook import OUTPUTS, Transforms, toom_cook
from rooftile.strategies.conv2d.cpu._winograd_gain import gain
from rooftile.strategies.conv2d.cpu._winograd_rows import RowTile
from rooftile.strategies.conv2d.cpu._winograd_tiles import SquareTile
from rooftile.strategies.conv2d.cpu.loops import one_row, sizes_of


class Winograd(CpuStrategy):
    """Takes stride 1, masks 7 high, 5x5 and 3x3, and pools that tile four rows."""

    operation = "conv2d"
    name = "winograd"
    transforms = True
    summary = "Toom-Cook/Winograd transforms: fewer multiplications, one decimal digit lost"
    takes = features("activation:* padding pool:average,max")
    precision = "fast"
    margin = 1.25  # With it it was slower at none of the shapes that its ratio was fitted to.

    def limits(self, problem: Conv2d) -> str | None:
        if problem.mask[0] != 7 and problem.mask not in ((3, 3), (5, 5)):
            return f"it has transforms for 7-row, 5x5 and 3x3 masks, not {problem.mask}"
        pool = problem.pool
        if pool is not None and (
            not folds(problem, vector.lanes())
            or OUTPUTS % pool.window[0]
            or OUTPUTS % pool.window[1]
        ):
            return f"the pool must tile {OUTPUTS}x{OUTPUTS} outputs and fold in registers"
        if problem.conv_read[0] < OUTPUTS:
            return f"a tile has {OUTPUTS} convolution rows, the problem {problem.conv_read[0]}"
        return None

    def estimate(self, problem: Conv2d, machine: Speeds, *, once: bool = False) -> float | None:
        """See `Strategy.estimate`: by its ratio to the best rung at `ieee`.  ``once`` counts the
        transform of the weights."""
        rungs = (register_tile.STRATEGY, map_vectors.STRATEGY)
        taking = (rung.estimate(problem, machine) for rung in rungs if not rung.why_not(problem))
        plain = min((seconds for seconds in taking if seconds is not None), default=None)
        return plain and plain / _gain(problem, once=once)

    def kernel(self, problem: Conv2d) -> CpuKernel:
        return _kernel(problem.with_batch(1))


STRATEGY = Winograd()


def tile_of(problem: Conv2d) -> RowTile | SquareTile:
    """The tile of a problem that the strategy takes."""
    return RowTile.of(problem) if problem.mask[0] == 7 else SquareTile.of(problem)


@lru_cache(maxsize=1024)
def _gain(problem: Conv2d, *, once: bool) -> float:
    return gain(problem, tile_of(problem), once=once)


@last_kernels
def _kernel(problem: Conv2d) -> CpuKernel:
    tile = tile_of(problem)
    functions = {"activate": activate, "activate_row": activate_row, "one_row": one_row}
    bands = tile.bands
    return CpuKernel(
        source("winograd", generate(tile), functions, passes="simplify"),
        units=lambda images: images * bands,
        pack=lambda weights, into, _: pack(tile, weights, into),
        packed=tile.transformed_weights + problem.parameter_arrays[0].size + 1,
        scratch=tile.scratch,
        sizes=sizes_of(problem),
    )


def pack(tile: RowTile | SquareTile, weights: Float32, into: Float32) -> None:
    """The transformed weights, then the weights themselves, then one number: NaN where a weight
    is not finite, else zero."""
    with np.errstate(invalid="ignore", over="ignore"):
        transformed = tile.pack(weights)
    flag = np.float32(0.0 if np.isfinite(transformed).all() else np.nan)
    np.concatenate([transformed, weights.ravel(), [flag]], out=into)


def generate(tile: RowTile | SquareTile) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``."""
    p, body = tile.problem, Writer()
    transforms = Transforms(toom_cook(p.mask[0]))
    part = _winograd_rows if isinstance(tile, RowTile) else _winograd_tiles
    with body.block(""), body.block("for unit in range(begin, end):"):
        emit_band(body, p, tile.band)
        body.line("bad = splat_at(weights, weights.size - 1)")
        part.emit_input(tile, body, transforms)
        with body.block("if has_nan(bad):"):
            with (
                body.block(f"for m in range({p.maps}):"),
                body.block(f"for row in range(skip, {tile.band}):"),
            ):
                direct = f"weights[{tile.transformed_weights}:]"
                body.line(f"one_row(x, {direct}, bias, out, sizes, n, m, top + row)")
            body.line("continue")
        part.emit_maps(tile, body, transforms)
    to = Writer()
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line("nought = splat(float32(0.0))", *transforms.constants())
    return to.text() + body.text()
