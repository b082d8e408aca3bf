"""Each rung's worst error against its budget."""

from __future__ import annotations

import math

from rooftile.lab.measure.records import Row
from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import Log
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import (
    EMPTY,
    TRACK,
    Figure,
    FigureTable,
    Strip,
    axis,
    badges,
    colour,
    data,
    legend,
    tip,
    track,
    upright,
    without_time,
)
from rooftile.lab.show.report.content import Section

_BUDGET = 1.0


def figure(section: Section) -> Figure | None:
    """Marks on a logarithmic axis, and the budget; None where nothing was computed."""
    rows = [row for row in section.rows if row.error]
    if not rows:
        return None
    finite = [_fraction(row) for row in rows if math.isfinite(_fraction(row))]
    scale = Log.over([*finite, _BUDGET, 0.1], room=2)
    return Figure(
        "errors",
        "Error against budget",
        "The worst element's error over the budget that precision, the sum's length and the "
        "magnitude of its terms allow. The line is the room that is left.",
        _table(section),
        tuple(_strip(row, scale) for row in rows),
        axis(scale, [(_BUDGET, "budget")], "error / budget") if finite else EMPTY,
        legend=legend(rows),
        heads=("error / budget", ""),
    )


def _fraction(row: Row) -> float:
    return row.error.budget_fraction if row.error else math.nan


def _strip(row: Row, scale: Log) -> Strip:
    fraction = _fraction(row)
    if not math.isfinite(fraction):
        return without_time(row)
    picture = track(scale, beyond=_BUDGET)
    upright(picture, scale.at(_BUDGET), "roof")
    ends = {"x1": svg.percent(scale.at(fraction)), "x2": svg.percent(scale.at(_BUDGET))}
    wrong = " wrong" if fraction > _BUDGET else ""
    y = TRACK / 2
    svg.add(picture, "line", class_=f"room{wrong}", y1=y, y2=y, **ends)
    spot = svg.place(picture, scale.at(fraction), y)
    svg.symbol(spot, row.precision, f"mark {colour(row)}{wrong}")
    detail = "" if row.status == "passed" else row.status
    said = tip(row) if row.time_ms else without_time(row).tip
    return Strip(
        row.strategy,
        words.figures(fraction, 2),
        detail,
        badges(row),
        svg.markup(picture),
        tip=said,
        data=data(row),
    )


def _table(section: Section) -> FigureTable:
    columns = ("rung", "precision", "error / budget", "max abs", "max rel", "note")
    return FigureTable(columns, tuple((data(row), _cells(row)) for row in section.rows))


def _cells(row: Row) -> tuple[str, ...]:
    start, note = (row.strategy, row.precision), ""
    if row.status != "passed":
        note = f"{row.status}: {row.reason}"
    if row.error is None:
        return (*start, "", "", "", note)
    found = row.error
    numbers = (found.budget_fraction, found.max_abs, found.max_rel)
    return (*start, *(words.figures(number) for number in numbers), note)
