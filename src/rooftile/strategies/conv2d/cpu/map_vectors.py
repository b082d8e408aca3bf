"""`map_vectors`: vectors of maps instead of columns, everything fused.

`register_tile` has neighbouring columns in a vector.  Where rows are short, many of its lanes
hold none, and each of its loads crosses a cache line.  Here the lanes are neighbouring maps:
weights are packed so that a load is a cache line, and an input is broadcast by the very
instruction that multiplies it.  What this costs is a transposition for each block of results.

Source: Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions
on SIMD Architectures", SC18.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from rooftile.devices.cpu.native import last_kernels, source, vector
from rooftile.ops import ACTIVATIONS, Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate_row
from rooftile.strategies.common.panels import pack, packed_size, packing_of
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy
from rooftile.strategies.conv2d.cpu._map_block import MapBlock
from rooftile.strategies.conv2d.cpu._map_source import generate
from rooftile.strategies.conv2d.cpu._tile import SUMMED

STAGED_VECTORS = 6 * 1024
"""Vectors of staged input that a band may take: a part of the second-level cache, which is 1 MiB
or more where vectors have 16 lanes."""
_BANDS, _UNITS = 8, 64
"""Bands of an image, if it has as many blocks of rows, or fewer with many groups of maps or many
images: this number of units is work for some cores, and each band reads all weights again."""
_WRITTEN_OUT = 7
"""Masks with no more columns have the taps of their rows written out: a loop over three taps costs
up to half as much as the taps on a Zen 3."""
_LOOP_COST, _PREFETCH_COST = 0.6, 0.5
"""Costs of a loop's round and of a prefetch, in fused multiply-adds (fitted to measurements on an
Emerald Rapids)."""
_SUMS = 9
"""Eight independent sums would hide the latency of a fused multiply-add if nothing came between."""


class MapVectors(CpuStrategy):
    """Takes problems whose pool's windows tile the image."""

    operation = "conv2d"
    name = "map_vectors"
    margin = 1.1
    """Where both are estimated to be about equal, `register_tile` was faster: by 1.14 for lenet5's
    second convolution."""
    summary = "vectors of maps, inputs broadcast, results transposed in registers"
    takes = features("activation:* padding pool:average,max stride")

    def limits(self, problem: Conv2d) -> str | None:
        pool = problem.pool
        if pool is None:
            return None
        if pool.window != pool.stride:
            return f"the pool's windows must tile the image, not {pool.window} by {pool.stride}"
        if not (problem.pools_first or ACTIVATIONS[problem.activation].selects):
            return f"it takes the {pool.kind} of a pool before {problem.activation}"
        if next(_blocks(problem), None) is None:
            return f"a pool of {pool.window} does not fit its registers"
        return None

    def work(self, problem: Conv2d) -> Work:
        """See `Strategy.work`: the vectors' operations, those of lanes without a map too."""
        flops = 2 * vector.lanes() * problem.batch * estimate(problem)
        return replace(super().work(problem), flops=flops)

    def kernel(self, problem: Conv2d) -> CpuKernel:
        return _kernel(_flat(problem.with_batch(1)), min(problem.batch, _UNITS))


STRATEGY = MapVectors()


def _flat(p: Conv2d) -> Conv2d:
    """The same problem with one long row, where each output has one input."""
    if (p.mask, p.stride, p.padding, p.pool) == ((1, 1), (1, 1), (0, 0), None):
        return Conv2d(
            p.batch, p.channels, 1, p.height * p.width, p.maps, p.mask, activation=p.activation
        )
    return p


def chunk(p: Conv2d) -> int:
    """Channels that are summed in one go: long sums round worse."""
    return min(p.channels, max(1, SUMMED // math.prod(p.mask)))


def _blocks(p: Conv2d) -> Iterator[MapBlock]:
    """The register blocks that fit, with more than one row only where these are whole. With few
    registers, whose blocks are narrow, columns may run on over the ends of rows, unless a mask has
    a single tap, whose time the addresses would take; without a pool they always do."""
    rows, columns = p.output_size
    high, wide = p.pool.window if p.pool else (1, 1)
    single = p.mask == (1, 1)
    for vectors, most in _sums(vector.registers(), single):
        if vector.registers() < 32 and not single:
            outputs = rows * high * columns * wide
            yield _block(p, vectors, 1, min(most, outputs), runs_on=True)
            if p.pool is None:
                continue
        for across in range(1, min(columns, most) + 1):
            for down in range(1, rows + 1 if across == columns else 2):
                if down * high * across * wide <= most:
                    yield _block(p, vectors, down, across)


def _sums(registers: int, single: bool) -> list[tuple[int, int]]:
    """Numbers of vectors of maps that a block may have, each with its largest number of outputs."""
    if registers >= 32:
        return [(1, registers - 4)]
    # A broadcast takes a register, and so does a vector of weights.
    most = {vectors: (registers - 1 - vectors) // vectors for vectors in (2, 3)}
    return [(2, most[2])] if single else list(most.items())


def _block(p: Conv2d, vectors: int, rows: int, columns: int, *, runs_on: bool = False) -> MapBlock:
    return MapBlock(
        vectors, rows, columns, _written_out(p), p.stride[1], p.pool,
        whole=runs_on or columns == p.output_size[1],
        staged=p.padding != (0, 0) or math.prod(p.mask) > 1,
        chunked=chunk(p) < p.channels, lanes=vector.lanes(), runs_on=runs_on,
        pooled=min(vector.lanes(), p.output_size[1]) if runs_on and p.pool else 0,
    )  # fmt: skip


def _written_out(p: Conv2d) -> int:
    """The mask's columns, where the taps of its rows are written out."""
    return p.mask[1] if p.mask[1] <= _WRITTEN_OUT else 0


@lru_cache(maxsize=1024)
def choose(p: Conv2d) -> MapBlock:
    """The register block with the least estimated work."""
    return min(_blocks(p), key=lambda block: _estimate(p, block))


def estimate(problem: Conv2d) -> float:
    """The cost of an image, in fused multiply-adds of vectors."""
    flat = _flat(problem)
    return _estimate(flat, choose(flat))


def _estimate(p: Conv2d, block: MapBlock) -> float:
    """The cost of an image, in fused multiply-adds of vectors."""
    blocks = _blocks_of(block, *p.output_size)
    # A load takes as long as a fused multiply-add.
    tap = max(block.size, block.vectors + len(block.outputs), _SUMS)
    loops = _LOOP_COST * (1 if block.wide else p.mask[1])
    ahead = 2 if block.runs_on else block.rows * block.window[0] * len(block.lines)
    taps = p.channels * p.mask[0] * (p.mask[1] * tap + loops + _PREFETCH_COST * ahead)
    # A transposition moves every vector for each bit of the lane's number; stores cross lines.
    square = block.vectors * block.lanes * (block.lanes.bit_length() + 1) * 2
    results = blocks * len(block.runs) * square
    if block.pooled:
        rows, columns = p.output_size
        # Each is loaded, activated and taken into its pool.
        taken = 3 * block.pooled * math.prod(block.window) * block.vectors
        results += rows * -(-columns // block.pooled) * (taken + square)
    return -(-p.maps // block.group) * (blocks * taps + results)


def _blocks_of(block: MapBlock, rows: int, columns: int) -> int:
    """Number of blocks of ``rows`` rows of the result."""
    if block.runs_on:
        return -(-rows * columns * math.prod(block.window) // block.columns)
    return -(-rows // block.rows) * -(-columns // block.columns)


def bands_of(p: Conv2d, block: MapBlock, images: int = 1) -> int:
    """Bands of an image: the fewest whose staged rows fit, as many channels at a time as are summed
    in one go, and that are work enough for ``images`` images."""
    rows, columns = p.output_size
    # A band has a whole block.
    outputs = columns * math.prod(block.window)
    least_rows = -(-block.columns // outputs) if block.runs_on else block.rows
    steps, most = rows // least_rows, STAGED_VECTORS * block.lanes
    groups = -(-p.maps // block.group)
    # Rows that bands share are staged for each of them.
    distinct = rows * block.window[0] * p.stride[0] // p.mask[0]
    least = max(1, min(steps, _BANDS, -(-_UNITS // (groups * images)), distinct))
    share = chunk(p) / p.channels
    fitting = (n for n in range(least, steps) if share * _staged(p, block, n) <= most)
    return next(fitting, steps) if block.staged else least


def _rows_of_band(p: Conv2d, block: MapBlock, bands: int) -> int:
    """Of the result, in the largest band."""
    rows = p.output_size[0]
    return -(-(rows // block.rows) // bands) * block.rows + rows % block.rows


def _staged(p: Conv2d, block: MapBlock, bands: int) -> int:
    """float32 of the rows behind a band."""
    high, wide = block.window
    deep = (_rows_of_band(p, block, bands) * high - 1) * p.stride[0] + p.mask[0]
    return p.channels * deep * ((p.output_size[1] * wide - 1) * p.stride[1] + p.mask[1])


@last_kernels
def _kernel(p: Conv2d, images: int) -> CpuKernel:
    block = choose(p)
    bands, groups = bands_of(p, block, images), -(-p.maps // block.group)
    terms = p.channels * math.prod(p.mask)
    # Beyond what is staged, vectors may be stored past padding and the last row.
    staged = _staged(p, block, bands) + p.padding[1] + 2 * block.lanes if block.staged else 0
    rows, columns = _rows_of_band(p, block, bands), p.output_size[1]
    kept = _blocks_of(block, rows, columns) * block.size if block.chunked else 0
    if block.pooled:
        kept += rows * columns * math.prod(block.window) * block.vectors
    return CpuKernel(
        source(
            "map_vectors",
            generate(block),
            {"activate_row": activate_row},
            lanes=block.lanes,
            passes="simplify",
        ),
        units=lambda images: images * bands * groups,
        pack=lambda weights, into, threads: _pack(weights, into, block.lanes, threads),
        packing=packing_of(p.maps, terms, terms, block.lanes),
        packed=groups * block.group * terms,
        scratch=staged + kept * block.lanes,
        sizes=(
            p.channels, p.height, p.width, p.maps, *p.mask, p.stride[0], *p.padding,
            *p.output_size, bands, ACTIVATION_CODES[p.activation], chunk(p), staged,
        ),
    )  # fmt: skip


def _pack(weights: Float32, into: Float32, lanes: int, threads: int) -> None:
    """A panel for each vector of maps; those that only fill a group weigh zero."""
    rows = weights.reshape(weights.shape[0], -1)
    maps, terms = rows.shape
    pack(rows, into, terms, lanes, threads)
    into[packed_size(maps, terms, lanes) :] = 0.0
