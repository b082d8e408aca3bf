"""The ladder as bars against the roof: how much of what is possible each rung reaches."""

from __future__ import annotations

from markupsafe import Markup

from rooftile.lab.measure.records import Row, median
from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import LinearAxis
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import (
    EMPTY,
    Figure,
    FigureTable,
    Scale,
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
    without_time,
)
from rooftile.lab.show.report.content import Section

_BEYOND = {
    True: "A bar beyond the roof is effective: counted in the direct method's FLOPs, of which it "
    "saves some.",
    False: "A bar beyond the roof is possible where the problem fits the caches: the roof is that "
    "of memory.",
}
"""The meaning of a bar beyond the roof, where arithmetic sets the roof (True) and where memory
does."""


def figure(section: Section) -> Figure:
    """Bars of the share of the roof; of the rate where no ceilings are known."""
    rows = section.rows
    shares = any(row.roof_fraction for row in rows)
    longest = max((_warm(row, shares) for row in rows), default=0.0)
    scale = LinearAxis(max(longest, 1.0)) if shares else LinearAxis(longest or 1.0)
    strips = tuple(_strip(row, scale, shares) for row in rows)
    if not longest:  # Nothing is drawn, so nothing is counted.
        labels = EMPTY
    elif shares:  # The axis counts in percent, the bars in shares of one.
        labels = axis(LinearAxis(100 * scale.high), [(100.0, "the roof")], "% of the roof")
    else:
        labels = axis(scale, [], "GFLOP/s")
    title = "The ladder against the roof" if shares else "The ladder"
    return Figure(
        "bars",
        title,
        _caption(section, shares, longest),
        _table(section),
        strips,
        labels,
        legend=_legend(rows),
        heads=("of the roof" if shares else "GFLOP/s", "warm time"),
    )


def _warm(row: Row, shares: bool) -> float:
    """A bar's length: share of the roof, or GFLOP/s."""
    return (row.roof_fraction if shares else row.gflops) or 0.0


def _strip(row: Row, scale: Scale, shares: bool) -> Strip:
    if row.time_ms is None:
        return without_time(row)
    picture = track(scale, beyond=1.0 if shares else None)
    warm = _warm(row, shares)
    top, height = (4, 12) if row.cold_ms else (5, 16)
    svg.add(
        picture,
        "rect",
        class_=f"bar {colour(row)}",
        x=0,
        y=top,
        height=height,
        width=svg.percent(scale.at(warm)),
    )
    if row.cold_ms:
        cold = scale.at(warm * row.time_ms.median / row.cold_ms.median)
        svg.add(
            picture,
            "rect",
            class_=f"bar cold {colour(row)}",
            x=0,
            y=17,
            height=5,
            width=svg.percent(cold),
        )
    if shares:
        upright(picture, scale.at(1.0), "roof")
    value = words.share(row.roof_fraction) if row.roof_fraction else ""
    rate = words.figures(row.gflops) if row.gflops is not None else ""
    time = words.milliseconds(row.time_ms.median)
    return Strip(
        row.strategy,
        value if shares else rate,
        time,
        badges(row),
        svg.markup(picture),
        tip=tip(row),
        data=data(row),
    )


def _legend(rows: tuple[Row, ...]) -> tuple[tuple[Markup, str], ...]:
    found = legend(row for row in rows if row.time_ms)
    if any(row.cold_ms for row in rows):
        cold = key(
            lambda spot: svg.add(spot, "rect", class_="bar cold", x=-8, y=-2, width=16, height=5)
        )
        found += ((cold, "thin: cold, nothing of the data in the last-level cache"),)
    return found


def _caption(section: Section, shares: bool, longest: float) -> str:
    if not section.passed:
        return "No rung has a time; each says why."
    if not shares:
        return (
            "Rates by the direct method's FLOPs. No ceilings of this device are in the record, so "
            "there is no roof to compare with."
        )
    text = (
        "The roof is the least time that the measured ceilings allow a precision: "
        f"{_floors(section)}. A bar is that time over the rung's median."
    )
    if longest > 1 and section.roof is not None:
        text += f" {_BEYOND[section.compute_bound]}"
    return text


def _floors(section: Section) -> str:
    """``0.325 ms``, or each precision's where they differ."""
    floors = {name: words.milliseconds(floor) for name, floor in section.floors_ms.items()}
    if len(set(floors.values())) == 1:
        return next(iter(floors.values()))
    return ", ".join(f"{floor} ({name})" for name, floor in floors.items())


def _table(section: Section) -> FigureTable:
    columns = ("rung", "precision", "ms", "GFLOP/s", "GB/s", "of the roof", "speed-up", "note")
    first = next((row for row in section.rows if row.time_ms), None)
    return FigureTable(columns, tuple((data(row), _cells(row, first)) for row in section.rows))


def _cells(row: Row, first: Row | None) -> tuple[str, ...]:
    if row.time_ms is None or first is None:
        return (row.strategy, row.precision, *[""] * 5, f"{row.status}: {row.reason}")
    return (
        row.strategy,
        row.precision,
        words.figures(row.time_ms.median, 4),
        words.figures(row.gflops or 0.0),
        words.figures(row.gbps or 0.0),
        words.share(row.roof_fraction) if row.roof_fraction is not None else "",
        f"{words.figures(median(first) / median(row))} ×",
        row.reason,
    )
