"""Warm and cold times with their spread, on a logarithmic axis."""

from __future__ import annotations

from markupsafe import Markup

from rooftile.lab.measure.records import Row
from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import Log
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import (
    TRACK,
    Figure,
    FigureTable,
    Strip,
    axis,
    badges,
    colour,
    data,
    key,
    legend,
    tip,
    track,
    upright,
)
from rooftile.lab.show.report.content import Section, floor_ms
from rooftile.runtime.timing.host import Timing

_COLUMNS = (
    "rung",
    "precision",
    "warm ms",
    "p20",
    "p80",
    "min",
    "n",
    "cold ms",
    "cold / warm",
    "first call ms",
    "registers",
    "shared B",
    "spill B",
    "occupancy",
    "SM MHz",
    "note",
)


def figure(section: Section) -> Figure | None:
    """A line from p20 to p80 with a mark at the median; None where nothing has a time."""
    rows = [row for row in section.rows if row.time_ms]
    if not rows:
        return None
    floors = section.floors_ms.values()
    ends = [
        end
        for row in rows
        for timing in (row.time_ms, row.cold_ms)
        if timing
        for end in (timing.p20, timing.p80, timing.median)
    ]
    scale = Log.over([*ends, *floors])
    strips = tuple(_strip(row, scale) for row in rows)
    cold = any(row.cold_ms for row in rows)
    caption = "A mark is the median, its line reaches from p20 to p80."
    caption += (
        " Cold: with nothing of the data in the last-level cache; warm: the same arrays again."
        if cold
        else " Warm: the same arrays again and again. A processor's cold times are not taken."
    )
    return Figure(
        "times",
        "Cold and warm" if cold else "Times and their spread",
        caption,
        _table(section),
        strips,
        axis(scale, [(floor, "floor") for floor in [*floors][:1]], "ms"),
        legend=legend(rows) + (((_hollow(), "hollow: cold"),) if cold else ()),
        heads=("warm", "cold, ms" if cold else ""),
    )


def _hollow() -> Markup:
    return key(lambda spot: svg.symbol(spot, "ieee", "mark hollow other"))


def _strip(row: Row, scale: Log) -> Strip:
    picture = track(scale)
    floor = floor_ms(row)
    if floor is not None:
        upright(picture, scale.at(floor), "roof")
    assert row.time_ms is not None
    if row.cold_ms:
        _draw(picture, row, row.cold_ms, scale, TRACK - 8, "hollow")
    _draw(picture, row, row.time_ms, scale, 9 if row.cold_ms else TRACK / 2, "")
    warm = words.milliseconds(row.time_ms.median)
    detail = f"cold {words.figures(row.cold_ms.median)}" if row.cold_ms else ""
    settled = "" if row.time_ms.steady else "~"
    return Strip(
        row.strategy,
        f"{settled}{warm}",
        detail,
        badges(row),
        svg.markup(picture),
        tip=tip(row),
        data=data(row),
    )


def _draw(picture: svg.Element, row: Row, timing: Timing, scale: Log, y: float, style: str) -> None:
    left, right = svg.percent(scale.at(timing.p20)), svg.percent(scale.at(timing.p80))
    svg.add(picture, "line", class_=f"spread {colour(row)}", x1=left, x2=right, y1=y, y2=y)
    spot = svg.place(picture, scale.at(timing.median), y)
    svg.symbol(spot, row.precision, f"mark {colour(row)} {style}".strip())


def _table(section: Section) -> FigureTable:
    columns, found = list(_COLUMNS), [(data(row), _cells(row)) for row in section.rows]
    # A column that no row fills is left out.
    empty = [
        index for index in range(2, len(columns)) if not any(cells[index] for _, cells in found)
    ]
    kept = [index for index in range(len(columns)) if index not in empty]
    return FigureTable(
        tuple(columns[index] for index in kept),
        tuple((of, tuple(cells[index] for index in kept)) for of, cells in found),
    )


def _cells(row: Row) -> tuple[str, ...]:
    warm, cold, used = row.time_ms, row.cold_ms, row.resources
    if warm is None:
        times = [""] * 8
    else:
        times = [words.figures(value, 4) for value in (warm.median, warm.p20, warm.p80, warm.min)]
        times += [str(warm.n)]
        colds = (cold.median, cold.median / warm.median) if cold else ()
        times += [words.figures(value, 4) for value in colds] or ["", ""]
        times += [words.figures(row.first_call_ms)] if row.first_call_ms else [""]
    counts = (used.registers, used.shared_bytes, used.spill_bytes)
    return (
        row.strategy,
        row.precision,
        *times,
        *("" if count is None else str(count) for count in counts),
        "" if used.occupancy is None else words.share(used.occupancy),
        str(row.clocks.sm_mhz) if row.clocks else "",
        ", ".join(filter(None, (_note(row), words.settings(row.config)))),
    )


def _note(row: Row) -> str:
    if row.time_ms is None:
        return f"{row.status}: {row.reason}"
    throttled = row.clocks.note() if row.clocks else ""
    settled = "" if row.time_ms.steady else "~ the median had not settled"
    waited = "the machine was too busy to trust it" if row.time_ms.disturbed else ""
    return ", ".join(filter(None, (settled, waited, throttled)))
