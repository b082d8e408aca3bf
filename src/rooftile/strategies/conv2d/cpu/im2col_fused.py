"""`im2col_fused`: the unrolled matrix built tile by tile in cache, never in memory.

A tile is a few vectors of convolution outputs wide and at most `_DEPTH` taps deep, so
that it stays in the first-level cache while every map's weights are multiplied with
it: a block of maps x vectors is summed in registers.  The sums of a result row lie in
scratch until the last tap is in; bias, activation and pool follow from there.  A unit
is one result row of one image; sizes are run-time values, so that problems share one
compilation for each number of maps in a block.

Source: Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning" (2014), section 3.1;
Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34 (2008).
"""

from __future__ import annotations

import math

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, finish_row
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy
from rooftile.strategies.conv2d.cpu._unfused import copy_taps
from rooftile.strategies.conv2d.cpu.loops import pool_codes

_TILE_FLOATS = 6 * 1024
"""float32 of a tile: 24 KiB of a first-level cache of 32 or more."""


class Im2colFused(CpuStrategy):
    """Takes every problem whose ghost cells are zeros."""

    operation = "conv2d"
    name = "im2col_fused"
    summary = "unrolled matrix built tile by tile in cache, multiplied in registers"
    takes = features("activation:* padding pool.activation:* pool:average,l2,max stride")

    def kernel(self, problem: Conv2d) -> CpuKernel:
        block, vectors = _register_block(problem.maps)
        pool, rows = problem.pool, problem.output_size[0]
        window, stride = (pool.window, pool.stride) if pool else ((1, 1), (1, 1))
        tile = vectors * vector.lanes()
        pitch = -(-problem.conv_span[1] // tile) * tile
        padded_maps = -(-problem.maps // block) * block
        kind, after = pool_codes(problem)
        sizes = (
            problem.channels, problem.height, problem.width, problem.maps, *problem.mask,
            *problem.stride, *problem.padding, ACTIVATION_CODES[problem.activation],
            kind, *window, *stride, *problem.output_size, problem.conv_span[1], pitch, after,
        )  # fmt: skip
        return CpuKernel(
            _compiled(block, vectors, vector.lanes()),
            units=lambda images: images * rows,
            pack=lambda weights, into, _: _pack(weights, into, block),
            packed=padded_maps * problem.channels * math.prod(problem.mask),
            scratch=_TILE_FLOATS + padded_maps * window[0] * pitch,
            sizes=sizes,
        )


STRATEGY = Im2colFused()


def _register_block(maps: int) -> tuple[int, int]:
    """Maps and vectors of a block: as many as registers hold, with little padding of maps."""
    most = 8 if vector.registers() >= 32 else 4
    block = min(range(1, most + 1), key=lambda b: (-(-maps // b) * (b + 2), -b))
    # Few maps leave registers for a wider tile, whose building costs less.
    return block, 4 if block <= most // 2 else 2


def _pack(weights: Float32, into: Float32, block: int) -> None:
    """weights[maps, channels, h, w] as [maps / block][taps][block]; the last block padded."""
    maps = weights.shape[0]
    rows, whole = weights.reshape(maps, -1), maps // block
    blocks = into.reshape(-1, rows.shape[1], block)
    full = rows[: whole * block].reshape(whole, block, -1)
    blocks[:whole] = full.transpose(0, 2, 1)
    if whole < len(blocks):
        left = rows[whole * block :]
        blocks[whole, :, : len(left)] = left.T
        blocks[whole, :, len(left) :] = 0


@last_kernels
def _compiled(block: int, vectors: int, lanes: int) -> Native:
    to = Writer()
    tile = vectors * lanes
    for across in range(1, vectors + 1):
        _emit_multiply(to, block, across, tile, lanes)
    _emit_choice(to, vectors, lanes)
    text = to.text() + _KERNEL.format(
        block=block, lanes=lanes, tile=tile, depth=_TILE_FLOATS // tile, sums=_TILE_FLOATS
    )
    return source("im2col_fused", text, {"finish_row": finish_row, "copy_taps": copy_taps})


def _emit_multiply(to: Writer, block: int, vectors: int, tile: int, lanes: int) -> None:
    """``multiply<vectors>``: add the product of a block of weights and the tile to the sums."""
    sums = [(q, v) for q in range(block) for v in range(vectors)]
    with to.block(f"def multiply{vectors}(weights, w, scratch, depth, z, plane):"):
        # Each tile is summed on its own, which keeps chains of roundings short.
        to.line(*(f"a{q}_{v} = splat(0.0)" for q, v in sums))
        with to.block("for k in range(depth):"):
            to.line(*(f"t{v} = load(scratch, k * {tile} + {v * lanes})" for v in range(vectors)))
            for q in range(block):
                to.line(f"tap = splat_at(weights, w + k * {block} + {q})")
                to.line(*(f"a{q}_{v} = fma(tap, t{v}, a{q}_{v})" for v in range(vectors)))
        for q, v in sums:
            at = f"z + {q} * plane + {v * lanes}"
            to.line(f"store(scratch, {at}, add(load(scratch, {at}), a{q}_{v}))")
    to.line("", "")


def _emit_choice(to: Writer, vectors: int, lanes: int) -> None:
    """``multiply``: the product over the number of vectors that its columns need."""
    with to.block("def multiply(weights, w, scratch, depth, z, plane, columns):"):
        for across in range(1, vectors):
            with to.block(f"if columns <= {across * lanes}:"):
                to.line(f"return multiply{across}(weights, w, scratch, depth, z, plane)")
        to.line(f"return multiply{vectors}(weights, w, scratch, depth, z, plane)", "", "")


_KERNEL = '''
def build(x, image, sizes, row, first, columns, k, depth, scratch):
    """The tile: input row by input row, the taps k to k + depth - 1."""
    height, width, mask_height, mask_width = sizes[1], sizes[2], sizes[4], sizes[5]
    q = k % mask_width
    p = k // mask_width % mask_height
    c = k // mask_width // mask_height
    for t in range(depth):
        i = row * sizes[6] + p - sizes[8]
        inside = width if 0 <= i < height else 0
        source = image + (c * height + i) * width
        copy_taps(x, source, inside, sizes[7], q - sizes[9], scratch, t * {tile}, first, columns)
        for j in range(columns, -(-columns // {lanes}) * {lanes}):
            scratch[t * {tile} + j] = 0.0
        q += 1
        if q == mask_width:
            q, p = 0, p + 1
        if p == mask_height:
            p, c = 0, c + 1


def convolve(x, image, weights, sizes, row, scratch, sums, plane):
    """One row of the convolution of every map, added to the sums."""
    taps, maps, read = sizes[0] * sizes[4] * sizes[5], sizes[3], sizes[18]
    for first in range(0, read, {tile}):
        columns = min({tile}, read - first)
        for k in range(0, taps, {depth}):
            depth = min({depth}, taps - k)
            build(x, image, sizes, row, first, columns, k, depth, scratch)
            for m in range(0, maps, {block}):
                w, z = m * taps + k * {block}, sums + m * plane + first
                multiply(weights, w, scratch, depth, z, plane, columns)


def kernel(x, weights, bias, out, scratch, sizes, begin, end):
    """Rows of all maps into scratch, then activated and pooled into the result."""
    maps, window, rows, columns, pitch = sizes[3], sizes[12], sizes[16], sizes[17], sizes[19]
    start, plane = {sums}, window * pitch
    for unit in range(begin, end):
        n, row = unit // rows, unit % rows
        image = n * sizes[0] * sizes[1] * sizes[2]
        for m in range(-(-maps // {block}) * {block}):
            first = bias[m] if m < maps else float32(0.0)
            for j in range(plane):
                scratch[start + m * plane + j] = first
        for a in range(window):
            conv_row = row * sizes[14] + a
            convolve(x, image, weights, sizes, conv_row, scratch, start + a * pitch, plane)
        for m in range(maps):
            finish_row(
                scratch, start + m * plane, pitch, out, ((n * maps + m) * rows + row) * columns,
                columns, window, sizes[13], sizes[15], sizes[10], sizes[11], sizes[20]
            )
'''
