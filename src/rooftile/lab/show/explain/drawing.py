"""A picture of what a block works on, as SVG: panels side by side, and what their colours mean.

It needs nothing else, and follows the reader's light or dark theme.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rooftile.analysis.pictures import LEGEND, Cell, Panel, Panels, Role
from rooftile.errors import InputError
from rooftile.lab.show.drawing.markup import Element, add, element, serialised
from rooftile.ops import Problem
from rooftile.strategies.contract.gpu import Config, GpuStrategy

_CELL, _SMALL, _MANY = 18, 9, 24
"""Pixels of a cell; of one in a wide panel; and the columns from which a panel is wide."""
_GAP, _LINE, _MARGIN = 26, 15, 10
_CHARACTER = 6.2
"""Pixels of a character, about."""
_WIDEST = 960
"""Pixels; panels that would go beyond begin a new row."""

_STYLE = """
text{font:11px system-ui,sans-serif;fill:#222}
.n{font-size:8px;text-anchor:middle}
.grid{stroke:#fff;stroke-width:1;fill:none}
.core{fill:#8ecae6}.halo{fill:#ffb703}.ghost{fill:#d9d9d9}.made{fill:#95d5b2}.used{fill:#e76f51}
.later{fill:#cfe8f3}.warp{fill:#e76f51}
.idle{fill:#f1c0c0}.padding{fill:#b8b8d1}.other{fill:#eef1f4}
@media(prefers-color-scheme:dark){text{fill:#ddd}.n{fill:#111}.grid{stroke:#0d1117}
.other{fill:#30363d}.ghost{fill:#6e7681}}
""".replace("\n", "")


def picture(strategy: GpuStrategy, problem: Problem, config: Config) -> str:
    """The picture of a rung's first block.

    Raises `InputError` for a rung without a picture.
    """
    panels = strategy.picture(problem, config)
    if not panels:
        raise InputError("picture", f"{strategy.operation} {strategy.name}", "a rung that has one")
    return drawing(panels)


def drawing(panels: Panels, legend: Mapping[Role, str] = LEGEND) -> str:
    """Panels as SVG, with what their roles mean."""
    return serialised(_drawn(panels, legend)) + "\n"


@dataclass(frozen=True)
class _Placed:
    panel: Panel
    x: int
    y: int

    @property
    def cell(self) -> int:
        return _size_of(self.panel)[2]


def _drawn(panels: Panels, legend: Mapping[Role, str]) -> Element:
    placed, width, height = _places(panels)
    roles = _roles(panels, legend)
    root = element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height + _MARGIN + _LINE * len(roles)}",
        width=width,
    )
    add(root, "style", _STYLE)
    for one in placed:
        _panel(root, one)
    for number, role in enumerate(roles):
        y = height + _LINE * number
        add(root, "rect", class_=role, x=_MARGIN, y=y, width=11, height=11)
        add(root, "text", legend[role], x=_MARGIN + 17, y=y + 10)
    return root


def _places(panels: Panels) -> tuple[list[_Placed], int, int]:
    """Each panel's position, side by side as far as there is room, and the size of all."""
    found, x, y, below, width = [], _MARGIN, _MARGIN, 0, 0
    for panel in panels:
        wide, high, _ = _size_of(panel)
        if x > _MARGIN and x + wide > _WIDEST:
            x, y = _MARGIN, y + below + _GAP
            below = 0
        found.append(_Placed(panel, x, y + _LINE))
        below = max(below, high + _LINE)
        x += wide + _GAP
        width = max(width, x - _GAP + _MARGIN)
    return found, width, y + below + _MARGIN


def _size_of(panel: Panel) -> tuple[int, int, int]:
    """Width and height in pixels, and the size of a cell."""
    columns = max(len(row) for row in panel.cells)
    cell = _SMALL if columns > _MANY else _CELL
    return max(cell * columns, int(_CHARACTER * len(panel.title))), cell * len(panel.cells), cell


def _roles(panels: Panels, legend: Mapping[Role, str]) -> list[Role]:
    """The roles that occur, in the order of the legend."""
    met = {cell.role for panel in panels for row in panel.cells for cell in row if cell}
    return [role for role in legend if role in met]


def _panel(root: Element, placed: _Placed) -> None:
    x, y, size = placed.x, placed.y, placed.cell
    add(root, "text", placed.panel.title, x=x, y=y - 5)
    for i, row in enumerate(placed.panel.cells):
        for first, count, role in _runs(row):
            add(
                root,
                "rect",
                class_=role,
                x=x + size * first,
                y=y + size * i,
                width=size * count,
                height=size,
            )
    add(root, "path", class_="grid", d=_grid(placed))
    for i, row in enumerate(placed.panel.cells):
        for j, cell in enumerate(row):
            if cell and cell.label and size == _CELL:
                middle = x + size * j + size // 2
                add(root, "text", cell.label, class_="n", x=middle, y=y + size * i + 12)


def _runs(row: tuple[Cell | None, ...]) -> Iterator[tuple[int, int, Role]]:
    """Neighbours of one role: where they begin, how many they are."""
    place = 0
    for role, cells in itertools.groupby(row, key=lambda cell: cell.role if cell else None):
        count = len(list(cells))
        if role is not None:
            yield place, count, role
        place += count


def _grid(placed: _Placed) -> str:
    """Lines between all cells."""
    size, rows = placed.cell, len(placed.panel.cells)
    columns = max(len(row) for row in placed.panel.cells)
    across = (f"M{placed.x} {placed.y + size * i}h{size * columns}" for i in range(rows + 1))
    down = (f"M{placed.x + size * j} {placed.y}v{size * rows}" for j in range(columns + 1))
    return "".join((*across, *down))
