"""Loads from global memory and reuse of tiles in shared memory.

Of tiled matrix products: PMPP, sections 5.3 to 5.5 and 6.3.  Of tiled convolutions in one to
three dimensions: PMPP, sections 7.4 to 7.5 (the 4th edition counts the block as large as
the input tile; the earlier ones number the loading strategies 1 to 3).  Reuse is shared
memory's reads over global memory's loads, so also the factor by which a tile lowers traffic.

Tiles and masks have one size a dimension; masks have a centre, with (mask - 1) div 2
elements before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rooftile.analysis._checks import check_sizes
from rooftile.analysis.launch import ceil_div
from rooftile.errors import InputError
from rooftile.ops.checks import check_positive


def input_tile(out_tile: Sequence[int], mask: Sequence[int]) -> tuple[int, ...]:
    """Sizes of the input tile of an output tile: out_tile + mask - 1."""
    sizes = check_sizes("out_tile", out_tile)
    widths = check_sizes("mask", mask, len(sizes))
    return tuple(out + m - 1 for out, m in zip(sizes, widths, strict=True))


def output_tile(in_tile: Sequence[int], mask: Sequence[int]) -> tuple[int, ...]:
    """Sizes of the output tile that an input tile allows: in_tile - mask + 1."""
    sizes = check_sizes("in_tile", in_tile)
    widths = check_sizes("mask", mask, len(sizes))
    if any(size < m for size, m in zip(sizes, widths, strict=True)):
        raise InputError("in_tile", list(in_tile), f"at least the mask, {list(mask)}")
    return tuple(size - m + 1 for size, m in zip(sizes, widths, strict=True))


def conv_reuse(out_tile: Sequence[int], mask: Sequence[int]) -> float:
    """Average uses of each element that an internal tile loads, halo in shared memory too.

    prod(out_tile) prod(mask) / prod(out_tile + mask - 1).  PMPP, section 7.4.
    """
    loaded = math.prod(input_tile(out_tile, mask))
    return math.prod(out_tile) * math.prod(mask) / loaded


def conv_reuse_input_block(in_tile: Sequence[int], mask: Sequence[int]) -> float:
    """`conv_reuse` where the block has a thread for each element of the input tile."""
    return conv_reuse(output_tile(in_tile, mask), mask)


def conv_reuse_limit(mask: Sequence[int]) -> int:
    """The limit of `conv_reuse` as tiles grow: the mask's elements."""
    return math.prod(check_sizes("mask", mask))


def loads_per_output(out_tile: Sequence[int], mask: Sequence[int]) -> float:
    """Loads of input an output element: prod(out_tile + mask - 1) / prod(out_tile).

    Also the average number of blocks that read one input element.
    """
    return math.prod(input_tile(out_tile, mask)) / math.prod(out_tile)


@dataclass(frozen=True)
class EdgeTile:
    """A tile at the edge of a zero-padded array."""

    accesses: int
    """Reads of the sum that go to real elements, not to ghost cells."""
    loads: int
    """Real elements of the input tile."""

    @property
    def reuse(self) -> float:
        """Reads over loads."""
        return self.accesses / self.loads


def conv_first_tile(out_tile: Sequence[int], mask: Sequence[int], size: Sequence[int]) -> EdgeTile:
    """The tile of the array's first elements: an end in one dimension, a corner in more.

    In each dimension, outputs 0 to o - 1 and r = (mask - 1) div 2 elements before the centre: loads
    o + mask - 1 - r, accesses o mask - r (r + 1) / 2, less the elements beyond a short array;
    dimensions multiply.  PMPP, section 7.4.
    """
    outs = check_sizes("out_tile", out_tile)
    widths = check_sizes("mask", mask, len(outs))
    sizes = check_sizes("size", size, len(outs))
    accesses = loads = 1
    for out, m, n in zip(outs, widths, sizes, strict=True):
        before, after, made = (m - 1) // 2, m // 2, min(out, n)
        ghosts = _triangle(before, made) + _triangle(after, made, n - made)
        accesses *= made * m - ghosts
        loads *= min(n, made + after)
    return EdgeTile(accesses, loads)


@dataclass(frozen=True)
class CoreTile:
    """An internal tile of which only the core is in shared memory, of `conv_core`."""

    outputs: int
    halo_accesses: int
    """Reads of the sum that go to global memory."""
    shared_accesses: int
    """Reads of the sum that go to the core."""

    @property
    def global_loads(self) -> int:
        """The core once, and every read of the halo."""
        return self.outputs + self.halo_accesses

    @property
    def shared_uses(self) -> float:
        """Uses of each element of the core."""
        return self.shared_accesses / self.outputs

    @property
    def loads_per_output(self) -> float:
        """Loads from global memory an output."""
        return self.global_loads / self.outputs


def conv_core(tile: Sequence[int], mask: Sequence[int]) -> CoreTile:
    """Strategy 3: input and output tile of one size, the halo read from global memory.

    In each dimension tile x mask reads, of which all but r (r + 1) / 2 at either end, with
    its own r, meet the core; dimensions multiply.  PMPP, section 7.5.
    """
    outs = check_sizes("tile", tile)
    widths = check_sizes("mask", mask, len(outs))
    shared = 1
    for out, m in zip(outs, widths, strict=True):
        shared *= out * m - _triangle((m - 1) // 2, out) - _triangle(m // 2, out)
    every = math.prod(outs) * math.prod(widths)
    return CoreTile(math.prod(outs), every - shared, shared)


def load_stages(in_tile: Sequence[int], mask: Sequence[int]) -> tuple[int, int]:
    """Passes in which an output-tile-sized block fills the input tile.

    By linear index: ceil(prod(in_tile) / prod(out_tile)); by shifted copies of the block:
    prod(ceil(in_tile / out_tile)).
    """
    out = output_tile(in_tile, mask)
    linear = ceil_div(math.prod(in_tile), math.prod(out))
    return linear, math.prod(ceil_div(i, o) for i, o in zip(in_tile, out, strict=True))


def shared_bytes(arrays: Sequence[Sequence[int]], elem_bytes: int = 4) -> int:
    """Shared memory of a block with arrays of these shapes: elem_bytes x sum of products."""
    check_positive(elem_bytes=elem_bytes)
    return elem_bytes * sum(math.prod(check_sizes("array", shape)) for shape in arrays)


@dataclass(frozen=True)
class MatmulTile:
    """Traffic of an m x k by k x n product made by tiles of the result."""

    m_loads: int
    n_loads: int
    m_reuse: float
    """Uses of each loaded element of M; its limit is the tile's width."""
    n_reuse: float

    @property
    def loads(self) -> int:
        """Elements loaded from global memory."""
        return self.m_loads + self.n_loads


def matmul_tile(m: int, k: int, n: int, rows: int, columns: int) -> MatmulTile:
    """Loads where a block makes ``rows`` x ``columns`` of the result, whatever its depth.

    M is loaded once for each block across, ceil(n / columns) times; N ceil(m / rows) times;
    uses are m k n each.  Square tiles: rows = columns = TILE; strips: a depth of 1, the same
    loads; coarsening by c: columns = c TILE.  PMPP, sections 5.3 to 5.4 and 6.3.
    """
    check_positive(m=m, k=k, n=n, rows=rows, columns=columns)
    m_loads = m * k * ceil_div(n, columns)
    n_loads = k * n * ceil_div(m, rows)
    return MatmulTile(m_loads, n_loads, m * k * n / m_loads, m * k * n / n_loads)


def rectangular_reuse(m_tile: Sequence[int], n_tile: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of the largest output tile of two input tiles given as (rows, columns).

    An element of the M tile is used once for each output column, one of N for each row: so
    M's reuse is the columns, N's the rows.
    """
    check_sizes("m_tile", m_tile, 2)
    check_sizes("n_tile", n_tile, 2)
    if m_tile[1] != n_tile[0]:
        raise InputError("n_tile", list(n_tile), f"as many rows as m_tile has columns, {m_tile[1]}")
    return m_tile[0], n_tile[1]


def _triangle(reach: int, count: int, first: int = 0) -> int:
    """Sum of max(0, reach - i) over ``count`` numbers i from ``first``."""
    reach = max(0, reach - first)
    rest = max(0, reach - count)
    return (reach * (reach + 1) - rest * (rest + 1)) // 2
