"""Sparse matrices worth testing and timing: where their entries lie, made from a few numbers."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.rows import Rows, offsets_of

Pattern = Literal["random", "even", "banded", "grid", "blocks", "dense"]
"""``random``: rows of all lengths, some empty and some ten times the average; ``even``: of one
length; ``banded``: diagonals about the main one; ``grid``: the five-point stencil of a square;
``blocks``: dense squares; ``dense``: the first row has everything, and the others are even."""
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)

_SIGMA = 1.5
"""Of the logarithms of random rows' lengths."""


def lengths_of(
    count: int, entries: int, longest: int, generator: np.random.Generator, *, full: bool
) -> AnyArray:
    """Lengths of ``count`` rows that add up to ``entries``: very different ones, an eighth of them
    0.

    None is above ``longest`` (0: there is no limit); where ``full`` one has that length.
    """
    weights = generator.lognormal(0, _SIGMA, count)
    weights[generator.random(count) < 1 / 8] = 0
    rising = np.concatenate([[0.0], np.cumsum(weights)])
    ends = np.floor(rising / (rising[-1] or 1.0) * entries).astype(np.int64)
    ends[-1] = entries
    lengths = np.diff(ends)
    if not longest:
        return lengths
    np.minimum(lengths, longest, out=lengths)
    first = int(generator.integers(count))
    if full:
        lengths[first] = longest
    order = np.roll(np.arange(count), -first)
    lacking = entries - int(lengths.sum())
    # The first in this order is the full row: it has no room, and is the last to lose anything.
    if lacking >= 0:
        lengths[order] += _spread(longest - lengths[order], lacking)
    else:
        lengths[order[::-1]] -= _spread(lengths[order[::-1]], -lacking)
    return lengths


def _spread(room: AnyArray, total: int) -> AnyArray:
    """``total`` distributed over places with capacities ``room``, the first ones first."""
    filled = np.minimum(np.cumsum(room), total)
    return np.diff(filled, prepend=0)


def values_of(count: int, dtype: str, generator: np.random.Generator) -> AnyArray:
    """Normal numbers of a dtype, none of which is 0."""
    wide = np.float64 if dtype == "float64" else np.float32
    made = generator.standard_normal(count, wide).astype(dtype)
    made[made == 0] = 1
    return made


def rows_with(
    lengths: AnyArray, columns: int, dtype: str, index: str, generator: np.random.Generator
) -> Rows:
    """Rows of these lengths, with entries in any columns."""
    entries = int(lengths.sum())
    places = generator.integers(0, columns, entries, index)
    offsets = offsets_of(lengths, index)
    return Rows((len(lengths), columns), values_of(entries, dtype, generator), places, offsets)


def band_reach(rows: int, entries: int) -> int:
    """The distance from the main diagonal that a square banded matrix of ``entries`` entries
    reaches."""
    reach = 0
    while band_entries(rows, reach) < entries:
        reach += 1
    return reach


def band_entries(rows: int, reach: int) -> int:
    """Entries of a square matrix with ``reach`` diagonals on each side of the main one."""
    return (2 * reach + 1) * rows - reach * (reach + 1)


def grid_entries(side: int) -> int:
    """Entries of the five-point stencil on a square of ``side`` x ``side`` points."""
    return 5 * side * side - 4 * side


def diagonal_rows(
    size: int, diagonals: AnyArray, dtype: str, index: str, generator: np.random.Generator
) -> Rows:
    """A square matrix with these diagonals, in rising order."""
    every = np.arange(size)[:, None] + diagonals
    inside = (every >= 0) & (every < size)
    columns = every[inside].astype(index)
    offsets = offsets_of(inside.sum(axis=1), index)
    return Rows((size, size), values_of(len(columns), dtype, generator), columns, offsets)


def grid_rows(size: int, dtype: str, index: str, generator: np.random.Generator) -> Rows:
    """The five-point stencil on a square of ``size`` points."""
    side = math.isqrt(size)
    every = np.arange(size)
    across = every % side
    columns = every[:, None] + np.array([-side, -1, 0, 1, side])
    inside = (columns >= 0) & (columns < size)
    inside[:, 1] &= across > 0
    inside[:, 3] &= across < side - 1
    kept = columns[inside].astype(index)
    offsets = offsets_of(inside.sum(axis=1), index)
    return Rows((size, size), values_of(len(kept), dtype, generator), kept, offsets)


def block_rows(
    shape: tuple[int, int],
    entries: int,
    block: int,
    dtype: str,
    index: str,
    generator: np.random.Generator,
) -> Rows:
    """Dense squares, as many in each row of squares, in different columns of squares."""
    high, wide = (size // block for size in shape)
    each = entries // (block * block) // high
    # A stride that has no factor in common with the columns meets each of them once.
    first = generator.integers(0, wide, high)[:, None]
    squares = np.sort((first + np.arange(each) * max(1, wide // each)) % wide, axis=1)
    columns = (squares[:, :, None] * block + np.arange(block)).reshape(high, -1)
    places = np.repeat(columns, block, axis=0).reshape(-1).astype(index)
    lengths = np.full(shape[0], each * block)
    return Rows(shape, values_of(entries, dtype, generator), places, offsets_of(lengths, index))


def even_lengths(count: int, entries: int) -> AnyArray:
    """Lengths that add up to ``entries``, none of which differs by more than 1 from another."""
    return np.diff(np.arange(count + 1) * entries // count)


def dense_first(
    shape: tuple[int, int], entries: int, dtype: str, index: str, generator: np.random.Generator
) -> Rows:
    """The first row is full; the others share out what is left."""
    others = even_lengths(shape[0] - 1, entries - shape[1])
    made = rows_with(np.concatenate([[shape[1]], others]), shape[1], dtype, index, generator)
    made.columns[: shape[1]] = np.arange(shape[1])
    return made


def rows_of(
    pattern: Pattern,
    shape: tuple[int, int],
    entries: int,
    block: int,
    dtype: str,
    index: str,
    generator: np.random.Generator,
) -> Rows:
    """A matrix of any pattern but ``random``, whose rows `lengths_of` makes; ``block`` is the side
    of the squares of ``blocks``."""
    kinds = dtype, index, generator
    if pattern == "banded":
        reach = band_reach(shape[0], entries)
        return diagonal_rows(shape[0], np.arange(-reach, reach + 1), *kinds)
    if pattern == "grid":
        return grid_rows(shape[0], *kinds)
    if pattern == "blocks":
        return block_rows(shape, entries, block, *kinds)
    if pattern == "dense":
        return dense_first(shape, entries, *kinds)
    return rows_with(even_lengths(shape[0], entries), shape[1], *kinds)


def some_diagonals(
    shape: tuple[int, int], count: int, dtype: str, index: str, generator: np.random.Generator
) -> tuple[AnyArray, AnyArray]:
    """The arrays of DIA, with ``count`` diagonals anywhere."""
    rows, columns = shape
    places = generator.permutation(rows + columns - 1)[:count]
    diagonals = np.sort(places - (rows - 1)).astype(index)
    values = values_of(count * rows, dtype, generator).reshape(count, rows)
    across = diagonals[:, None] + np.arange(rows)
    values[(across < 0) | (across >= columns)] = 0
    return values, diagonals


def some_blocks(
    shape: tuple[int, int],
    count: int,
    block: int,
    dtype: str,
    index: str,
    generator: np.random.Generator,
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The arrays of BSR, with ``count`` blocks anywhere; an eighth of their values are 0."""
    high, wide = (-(-size // block) for size in shape)
    lengths = lengths_of(high, count, 0, generator, full=False)
    squares = rows_with(lengths, wide, dtype, index, generator)
    values = values_of(count * block * block, dtype, generator).reshape(count, block, block)
    every = np.arange(block)
    down = squares.of_entries[:, None].astype(np.int64) * block + every
    across = squares.columns[:, None].astype(np.int64) * block + every
    beyond = (down >= shape[0])[:, :, None] | (across >= shape[1])[:, None, :]
    values[beyond | (generator.random(values.shape) < 1 / 8)] = 0
    return values, squares.columns, squares.offsets
