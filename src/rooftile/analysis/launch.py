"""Blocks, threads and warps of a launch, and where in it a thread is.

Sizes are listed x first, as CUDA's ``dim3`` has them.  Source: PMPP, sections 3.1 to 3.2
(grids that cover data), 4.4 (warps) and 6.3 (coarsening).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rooftile.analysis._checks import check_sizes
from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_positive

Index = tuple[int, ...]

_MEMORIES = {
    "thread": ("register", "local", "automatic", "thread"),
    "block": ("shared", "block"),
    "grid": ("global", "device", "constant", "managed", "grid"),
}
_SCOPES = {memory: scope for scope, memories in _MEMORIES.items() for memory in memories}
"""The scope of a variable, by its qualifier or by the scope's own name."""


@dataclass(frozen=True)
class Grid:
    """Blocks of threads, x first: one to three sizes of each.  Raises `InputError`."""

    blocks: Index
    block: Index
    """Threads of a block."""

    def __post_init__(self) -> None:
        check_sizes("block", self.block)
        check_sizes("blocks", self.blocks, len(self.block))

    @property
    def block_count(self) -> int:
        return math.prod(self.blocks)

    @property
    def block_threads(self) -> int:
        return math.prod(self.block)

    @property
    def threads(self) -> int:
        return self.block_count * self.block_threads

    def block_warps(self, warp: int = 32) -> int:
        """ceil(threads of a block / warp): warps of a block, the last of which may be partial."""
        return ceil_div(self.block_threads, warp)

    def warps(self, warp: int = 32) -> int:
        """Warps of the grid: no warp spans two blocks."""
        return self.block_count * self.block_warps(warp)

    def block_indices(self) -> Iterator[Index]:
        """Every ``blockIdx``, x fastest."""
        return _indices(self.blocks)

    def thread_indices(self) -> Iterator[Index]:
        """Every ``threadIdx`` of a block, x fastest: the order in which they form warps."""
        return _indices(self.block)


def ceil_div(count: int, size: int) -> int:
    """ceil(count / size): parts of ``size`` that cover ``count``."""
    check_positive(size=size)
    return -(-count // size)


def covering(size: Sequence[int], block: Sequence[int], coarsen: Sequence[int] = ()) -> Grid:
    """The smallest grid that covers an output.

    blocks = ceil(size / (block x coarsen)) in each dimension, where a thread makes
    ``coarsen`` outputs (1 where none is given).  PMPP, sections 3.1 and 6.3.
    """
    dims = len(check_sizes("size", size))
    check_sizes("block", block, dims)
    each = check_sizes("coarsen", coarsen or (1,) * dims, dims)
    blocks = (ceil_div(n, b * c) for n, b, c in zip(size, block, each, strict=True))
    return Grid(tuple(blocks), tuple(block))


def linear_index(index: Sequence[int], sizes: Sequence[int]) -> int:
    """x + size_x (y + size_y z): a thread's number in its block, or a block's in its grid.

    PMPP, section 4.4.
    """
    check_sizes("sizes", sizes, len(index))
    if any(not 0 <= i < size for i, size in zip(index, sizes, strict=True)):
        raise InputError("index", list(index), f"from 0 to below {list(sizes)}")
    number = 0
    for i, size in zip(reversed(index), reversed(sizes), strict=True):
        number = number * size + i
    return number


def warp_and_lane(thread: Sequence[int], block: Sequence[int], warp: int = 32) -> tuple[int, int]:
    """The warp in its block, and the lane in its warp, of a thread.  PMPP, section 4.4."""
    check_positive(warp=warp)
    return divmod(linear_index(thread, block), warp)


def variable_copies(grid: Grid, scope: str) -> int:
    """Number of instances of a kernel's variable in a launch.

    ``register``, ``local``: one a thread; ``shared``: one a block; ``global``, ``constant``:
    one.  PMPP, table 5.1.
    """
    if scope not in _SCOPES:
        raise unknown("scope", scope, sorted(_SCOPES))
    return {"thread": grid.threads, "block": grid.block_count, "grid": 1}[_SCOPES[scope]]


def conv_layer_grid(maps: int, rows: int, columns: int, tile: int) -> Grid:
    """The basic layer kernel: x over maps, y over tiles of the output, a thread an output.

    blocks = maps, ceil(rows / tile) ceil(columns / tile).  PMPP, section 16.3.
    """
    check_positive(maps=maps, rows=rows, columns=columns, tile=tile)
    tiles = ceil_div(rows, tile) * ceil_div(columns, tile)
    return Grid((maps, tiles), (tile, tile))


def fused_unroll_grid(batch: int, maps: int, rows: int, columns: int, tile: int) -> Grid:
    """The fused unroll and matrix product: x over pixels, y over maps, z over images.

    blocks = ceil(rows columns / tile), ceil(maps / tile), batch.  PMPP, section 16.4.
    """
    check_positive(batch=batch, maps=maps, rows=rows, columns=columns, tile=tile)
    return covering((rows * columns, maps, batch), (tile, tile, 1))


def _indices(sizes: Index) -> Iterator[Index]:
    for number in range(math.prod(sizes)):
        index = []
        for size in sizes:
            number, i = divmod(number, size)
            index.append(i)
        yield tuple(index)
