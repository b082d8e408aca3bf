"""Pictures of a block's arrays, or parts of them, cell by cell.

A panel has a cell for each element, with its role and a label, mostly the number of the thread that
loads or makes it. The module that draws panels (`rooftile.lab.show.explain.drawing`) knows no
strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

Role = Literal["core", "halo", "later", "ghost", "made", "used", "warp", "idle", "padding", "other"]

LEGEND: dict[Role, str] = {
    "core": "loaded by the block",
    "halo": "loaded, though it is under other blocks' results",
    "later": "loaded in later steps",
    "ghost": "outside of the array: a zero",
    "made": "made by the block",
    "used": "what one thread needs and makes",
    "warp": "what a warp asks for at once",
    "idle": "a thread that loads but makes nothing",
    "padding": "padding",
    "other": "other blocks'",
}
"""The meaning of each role."""

Size2 = tuple[int, int]
"""Rows and columns."""


class Cell(NamedTuple):
    """An element: its role in the block, and its thread."""

    role: Role
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """An array, or a part of it; None where there is no cell."""

    title: str
    cells: tuple[tuple[Cell | None, ...], ...]


Panels = tuple[Panel, ...]


MOST_ROWS, MOST_COLUMNS = 48, 64
"""The largest panel that is still read; of a larger array its first elements are drawn."""


def panel(title: str, size: Size2, cell: Callable[[int, int], Cell | None]) -> Panel:
    """A panel of ``size`` rows and columns, by what each cell is; the first ones of a large one."""
    rows, columns = min(size[0], MOST_ROWS), min(size[1], MOST_COLUMNS)
    if (rows, columns) != size:
        title = f"{title}, the first {rows} x {columns} of {size[0]:,} x {size[1]:,}"
    cells = tuple(tuple(cell(i, j) for j in range(columns)) for i in range(rows))
    return Panel(title, cells)


def filter_tile(
    name: str,
    array: Size2,
    first: Size2,
    loaded: Size2,
    core: Size2,
    loads: Callable[[int, int], object],
    used: Collection[Size2] = (),
) -> Panel:
    """The input tile of a filter's block in its array, with the elements around it.

    ``first`` is the element that the tile begins at, below zero where ghost cells are; its
    ``core``, a number of rows and columns, is under the block's results and begins at element (0,
    0). ``loads`` is the thread that loads an element of the tile, and ``used`` are the elements of
    the tile that one thread reads.
    """
    margin = [min(1, size - 1) for size in array]  # An array of one row has no neighbours.

    def cell(i: int, j: int) -> Cell | None:
        i, j = i - margin[0], j - margin[1]
        at = first[0] + i, first[1] + j
        inside = all(0 <= place < size for place, size in zip(at, array, strict=True))
        if not (0 <= i < loaded[0] and 0 <= j < loaded[1]):
            return Cell("other") if inside else None
        label = str(loads(i, j))
        if not inside:
            return Cell("ghost", label)
        if (i, j) in used:
            return Cell("used", label)
        under = all(0 <= place < size for place, size in zip(at, core, strict=True))
        return Cell("core" if under else "halo", label)

    size = loaded[0] + 2 * margin[0], loaded[1] + 2 * margin[1]
    return panel(name, size, cell)


def result_tile(
    name: str,
    array: Size2,
    made: Size2,
    makes: Callable[[int, int], object],
    one: Size2 | None = None,
    threads: Size2 = (0, 0),
) -> Panel:
    """The results that a block makes at the beginning of an array, and the elements next to them.

    ``one`` is the result of the thread whose reads are shown; ``threads`` is the block's shape
    where it has more threads than results.
    """
    shown = tuple(
        min(size, max(count, own) + 1)
        for size, count, own in zip(array, made, threads, strict=True)
    )

    def cell(i: int, j: int) -> Cell:
        if i < made[0] and j < made[1]:
            return Cell("used" if (i, j) == one else "made", str(makes(i, j)))
        idle = i < threads[0] and j < threads[1]
        return Cell("idle", str(makes(i, j))) if idle else Cell("other")

    return panel(name, (shown[0], shown[1]), cell)


def window(first: Size2, mask: Size2, star: bool = False) -> set[Size2]:
    """The places of a tile that a mask at ``first`` meets; of a star those on its two axes."""
    middle = mask[0] // 2, mask[1] // 2
    return {
        (first[0] + p, first[1] + q)
        for p in range(mask[0])
        for q in range(mask[1])
        if not star or p == middle[0] or q == middle[1]
    }
