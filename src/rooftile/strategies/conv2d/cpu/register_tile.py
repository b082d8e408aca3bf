"""`register_tile`: explicit vectors, a register block per problem, everything fused.

A block of maps x rows x vectors of convolution outputs is summed in registers;
bias, activation and pool happen there too, and the output is written once.  Each
loaded vector serves every map of the block, each tap every vector.

Source: Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions
on SIMD Architectures", SC18, for the register block; the pool folded into it is
this project's own.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from itertools import product

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Passes, last_kernels, native, source, vector
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.fused import activate_row, finish_row
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy
from rooftile.strategies.contract.cpu_kernel import KernelPacking
from rooftile.strategies.conv2d.cpu._flat_rows import lies_flat
from rooftile.strategies.conv2d.cpu._register_source import fitted, generate
from rooftile.strategies.conv2d.cpu._tile import Block, Order, Tile

_FEW_WEIGHTS = 2**12
_STAGED_FLOATS = 48 * 1024
"""float32 of staged input that a band may take: a part of the second-level cache."""

_VECTOR_COST, _TAP_COST, _ROW_ORDER_COST = 0.35, 0.2, 0.03
"""Costs of a loaded vector, a broadcast tap and the row order, in fused multiply-adds (fitted to
measurements of the named problems on a Zen 4)."""
_FLAT_STORE_COST = 4.0
"""Additional cost of storing a vector of results that holds several rows' (fitted to measurements
on a Sapphire Rapids)."""


class RegisterTile(CpuStrategy):
    """Takes every problem in which all positions count."""

    operation = "conv2d"
    name = "register_tile"
    summary = "explicit vectors, register block, bias, activation and pool in registers"
    takes = features(
        "activation:* boundary:replicate dilation groups padding padding_after "
        "pool.activation:* pool:average,l2,max stride"
    )

    def work(self, problem: Conv2d) -> Work:
        """See `Strategy.work`: the vectors' operations, those of lanes without a column too."""
        flops = 2 * vector.lanes() * problem.batch * estimate(problem)
        return dataclasses.replace(super().work(problem), flops=flops)

    def kernel(self, problem: Conv2d) -> CpuKernel:
        return _kernel(problem.with_batch(1))


STRATEGY = RegisterTile()


@last_kernels
def _kernel(problem: Conv2d) -> CpuKernel:
    groups = problem.groups
    one = dataclasses.replace(
        problem, channels=problem.channels // groups, maps=problem.maps // groups, groups=1
    )
    return tile_kernel(fitted(dataclasses.replace(choose_tile(one), groups=groups)))


def tile_kernel(tile: Tile) -> CpuKernel:
    """Generate and load the kernel of a tile."""
    functions = {"activate_row": activate_row, "finish_row": finish_row}
    # The channels of a group are an image of its own, and its maps a result of its own.
    units, groups = tile.bands * tile.groups, tile.groups
    # Pools that are not folded are taken by loops, of which LLVM makes vectors.
    passes: Passes = "variables" if tile.folded else "all"
    return CpuKernel(
        source("register_tile", generate(tile), functions, passes=passes),
        units=lambda images: images * units,
        pack=lambda weights, into, threads: pack(weights, into, tile.block.maps, threads, groups),
        packing=_packing_of(tile.problem, tile.block.maps, groups),
        scratch=tile.scratch,
    )


def pack(weights: Float32, into: Float32, block: int, threads: int, groups: int = 1) -> None:
    """weights[maps, channels, h, w] as [groups][maps / block][channels, h, w][block], flat; the
    last block of a group holds the maps that are left."""
    maps = weights.shape[0] // groups
    sizes = cpu.sizes_of(maps, weights[0].size, block)
    # A few are packed before the other cores could be told of it.
    count = threads if weights.size > _FEW_WEIGHTS else 1
    _packing()((np.ascontiguousarray(weights), into), sizes, groups * -(-maps // block), count)


@native
def blocks_of_maps(weights, packed, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are blocks.  ``sizes``: maps of a group, terms, maps of a block."""
    maps, terms, block = sizes[0], sizes[1], sizes[2]
    blocks = (maps + block - 1) // block
    for unit in range(begin, end):
        done = unit % blocks * block
        first = unit // blocks * maps + done
        count, to = min(block, maps - done), first * terms
        for q in range(count):
            for term in range(terms):
                packed[to + term * count + q] = weights[(first + q) * terms + term]


def _packing_of(p: Conv2d, block: int, groups: int) -> KernelPacking:
    """The kernel that does the same as `pack`."""
    sizes = cpu.sizes_of(p.maps, p.channels * math.prod(p.mask), block)
    return KernelPacking(_packing(), groups * -(-p.maps // block), sizes)


@cache
def _packing() -> cpu.Spread:
    return cpu.Spread(blocks_of_maps, ("float32", "float32"))


def choose_tile(problem: Conv2d) -> Tile:
    """The register block with the least estimated work, and its band."""
    block = min(_blocks(problem), key=lambda block: _cost(problem, block))
    flat = min(flat_tiles(problem), key=_flat_cost, default=None)
    if flat is not None and _flat_cost(flat) < _cost(problem, block):
        return flat
    return _with_band(problem, block, vector.lanes())


def estimate(problem: Conv2d) -> float:
    """The cost of an image, in fused multiply-adds of vectors, by separate rows."""
    taps = problem.channels * math.prod(problem.mask)
    least = min(_cost(problem, block) for block in _blocks(problem))
    return least * taps * problem.conv_span[0] / _window(problem)


def _window(problem: Conv2d) -> int:
    """Rows that are summed before the result is stored: a pool's, or all."""
    return problem.pool.window[0] if problem.pool else problem.conv_span[0]


def _vectors(problem: Conv2d) -> int:
    """Number of vectors that cover a row."""
    return -(-problem.conv_span[1] // vector.lanes())


def _blocks(problem: Conv2d) -> list[Block]:
    """The register blocks that fit."""
    # An input row meets neighbouring rows of a mask, which a dilation sets apart.
    orders: tuple[Order, ...] = ("tap", "row") if problem.dilation == (1, 1) else ("tap",)
    blocks = (
        Block(maps, rows, across, order)
        for maps, rows, across, order in product(
            {maps for maps in (1, 2, 3, 4, 8, problem.maps) if maps <= min(8, problem.maps)},
            range(1, min(4, _window(problem)) + 1),
            range(1, min(6, _vectors(problem)) + 1),
            orders,
        )
    )
    return [block for block in blocks if _registers(block) <= _room(problem, block)]


def _room(problem: Conv2d, block: Block) -> int:
    """Registers for a block.  Where they are few, one of a row in tap order may have all, unless
    the masks of the row's end, which is read in place, want some."""
    registers = vector.registers()
    in_place = not problem.is_padded and problem.stride[1] == 1
    masked = in_place and problem.conv_span[1] % vector.lanes() > 0
    single = block.rows == 1 and block.order == "tap"
    return registers if registers < 32 and single and not masked else registers - 2


def flat_tiles(problem: Conv2d) -> list[Tile]:
    """The tiles of rows that lie end to end, if they can; bands divide the image."""
    lanes, rows = vector.lanes(), problem.output_size[0]
    if not lies_flat(problem, lanes):
        return []
    maps, tiles = min(8, problem.maps), []
    for vectors in range(1, min(4, max(2, 16 // maps)) + 1):
        whole = Tile(problem, Block(maps, 1, vectors, "tap"), rows, lanes, flat=True)
        least = -(-whole.staged.size // _STAGED_FLOATS)
        parts = next(n for n in (*range(least, rows), rows) if rows % n == 0)
        tiles.append(dataclasses.replace(whole, band=rows // parts))
    return tiles


def _registers(block: Block) -> int:
    """Registers of a block: accumulators, loaded vectors, and the taps that the compiler keeps,
    which are one for each map and, in row order, for each row that shares it."""
    if block.order == "tap":
        return block.size + 1 + block.maps
    return block.size + block.vectors + block.maps * block.rows


def _flat_cost(tile: Tile) -> float:
    """`_cost` of a tile of rows that lie end to end."""
    p = tile.problem
    taps, vectors = p.channels * math.prod(p.mask), tile.bands * tile.vectors
    stores = _FLAT_STORE_COST * p.maps * vectors / taps
    return tile.bands * _tap_cost(p, tile.block, 1, tile.vectors) + stores


def _cost(problem: Conv2d, block: Block) -> float:
    """Estimated cycles of one tap over a pooling window's rows (or the image's), all maps."""
    return _tap_cost(problem, block, _window(problem), _vectors(problem))


def _tap_cost(problem: Conv2d, block: Block, high: int, wide: int) -> float:
    """Estimated cycles of one tap over ``high`` rows of ``wide`` vectors, all maps."""

    def parts(total: int, size: int) -> list[tuple[int, int]]:
        whole, rest = divmod(total, size)
        return [(size, whole), (rest, 1 if rest else 0)]

    height, cycles = problem.mask[0], 0.0
    for maps, n in parts(problem.maps, block.maps):
        for rows, k in parts(high, block.rows):
            for across, g in parts(wide, block.vectors):
                # Eight independent sums hide the latency of a fused multiply-add.
                work = float(max(maps * rows * across, 8 if maps * rows * across else 0))
                if block.order == "tap":
                    loads = float(rows * across)
                else:
                    loads = ((rows - 1) * problem.stride[0] + height) * across / height
                    work *= 1 + _ROW_ORDER_COST
                cycles += n * k * g * (work + _VECTOR_COST * loads + _TAP_COST * maps)
    return cycles


def _with_band(problem: Conv2d, block: Block, width: int) -> Tile:
    """The tile with its band: one step where the image is read in place, else a cacheful."""
    rows = problem.output_size[0]
    step = min(rows, block.rows if problem.pool is None else 1)
    tile = Tile(problem, block, step, width)
    if not tile.staged.needed:
        return tile
    for parts in range(1, rows + 1):
        band = -(-rows // parts)
        candidate = Tile(problem, block, band, width)
        if candidate.staged.size <= _STAGED_FLOATS or band <= step:
            return Tile(problem, block, max(band, step), width)
    return tile
