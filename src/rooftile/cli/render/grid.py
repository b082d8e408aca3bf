"""The two-way table of `rooftile tune --grid`, coloured as a heat map."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rooftile.cli.render.output import Output, milliseconds
from rooftile.cli.render.sheet import Sheet
from rooftile.errors import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from rooftile.lab.measure.tune.search import Search, Trial

_SHADES = "█▓▒░ "
"""From the fastest to the slowest, where there are no colours."""


@dataclass(frozen=True)
class TunableGrid:
    """Two tunables with their values, the others fixed."""

    rows: tuple[str, tuple[int, ...]]
    columns: tuple[str, tuple[int, ...]]
    fixed: dict[str, int]

    @property
    def configs(self) -> list[dict[str, int]]:
        """Every cell's config, row by row."""
        (down, heights), (across, widths) = self.rows, self.columns
        cells = itertools.product(heights, widths)
        return [{**self.fixed, down: row, across: column} for row, column in cells]

    def cells(self, trials: Sequence[Trial]) -> list[list[Trial]]:
        """The trials of the configs, in rows."""
        width = len(self.columns[1])
        return [list(trials[i : i + width]) for i in range(0, len(trials), width)]

    def to_json(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """The axes, what is fixed, and the medians in milliseconds (null: none), row by row."""
        return {
            "rows": {"name": self.rows[0], "values": list(self.rows[1])},
            "columns": {"name": self.columns[0], "values": list(self.columns[1])},
            "fixed": self.fixed,
            "median_ms": [[cell.median_ms for cell in row] for row in self.cells(trials)],
        }


def parse_grid(text: str, search: Search) -> TunableGrid:
    """A grid from ``"GROUPS=28,56 ITEMS=64,128 SPAN=32"``.

    Two tunables have several values, the rows' first.  Others have the value that is given, or
    their default.  Raises `InputError`.
    """
    values: dict[str, tuple[int, ...]] = {}
    for item in text.split():
        name, _, listed = item.partition("=")
        numbers = listed.split(",")
        if name in values or not all(n.isascii() and n.isdigit() for n in numbers):
            raise InputError("grid", repr(item), "NAME=1,2,3, each name once")
        values[name] = tuple(dict.fromkeys(int(n) for n in numbers))
    search.strategy.config(search.problem, {name: many[0] for name, many in values.items()})
    axes = [(name, many) for name, many in values.items() if len(many) > 1]
    if len(axes) != 2:
        raise InputError("grid", repr(text), "two tunables with several values")
    fixed = {name: many[0] for name, many in values.items() if len(many) == 1}
    others = {name: value for name, value in search.default.items() if name not in dict(axes)}
    return TunableGrid(axes[0], axes[1], {**others, **fixed})


def show_grid(output: Output, grid: TunableGrid, trials: Sequence[Trial]) -> None:
    """The medians, from green for the fastest to red for the slowest."""
    (down, heights), (across, widths) = grid.rows, grid.columns
    made = Sheet(f"{down} \\ {across}", *map(str, widths), numbers=map(str, widths))
    times = [trial.median_ms for trial in trials if trial.median_ms is not None]
    for height, row in zip(heights, grid.cells(trials), strict=True):
        made.add_row(str(height), *(_cell(cell, times, unicode=output.unicode) for cell in row))
    fixed = " ".join(f"{name}={value}" for name, value in grid.fixed.items())
    output.show(f"milliseconds{f', {fixed}' if fixed else ''}", "", made, "")
    said = dict.fromkeys(t.row.reason for t in trials if t.median_ms is None)
    output.show(*(f"- {reason.partition(chr(10))[0]}" for reason in said))
    if times:
        best = min(trials, key=lambda one: one.median_ms or math.inf)
        where = " ".join(f"{name}={best.config[name]}" for name in (down, across))
        spread = max(times) / min(times)
        output.show(f"fastest {where}: {milliseconds(min(times))} ms; the slowest {spread:.2f} x")


def _cell(trial: Trial, times: Sequence[float], *, unicode: bool) -> Text:
    from rich.text import Text

    if trial.median_ms is None:
        return Text(trial.row.status)
    low, high = math.log(min(times)), math.log(max(times))
    place = (math.log(trial.median_ms) - low) / (high - low) if high > low else 0.0
    shade = _SHADES[round(place * (len(_SHADES) - 1))] if unicode else ""
    colour = f"rgb({round(40 + 160 * place)},{round(140 - 100 * place)},50)"
    return Text(f" {milliseconds(trial.median_ms)} {shade}", style=f"white on {colour}")
