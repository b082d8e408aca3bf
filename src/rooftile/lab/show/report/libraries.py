"""A network's plan next to other libraries, on the same batch and weights."""

from __future__ import annotations

from markupsafe import Markup

from rooftile.lab.measure.records import Row, median
from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import LinearAxis
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import (
    Figure,
    FigureTable,
    Strip,
    axis,
    badges,
    colour,
    data,
    legend,
    tip,
    tone,
    track,
    without_time,
)
from rooftile.lab.show.report.content import NetworkRun

_COLUMNS = ("library", "precision", "ms", "images/s", "our speed", "error / budget", "note")


def figure(run: NetworkRun) -> Figure | None:
    """A bar of time each; None where no library was asked for."""
    if not run.peers:
        return None
    own = _own(run)
    timed = [row for row in run.peers if row.time_ms]
    scale = LinearAxis(max([own, *map(median, timed)]))
    where = "by the device's clock, without copies, in turns" if run.plan else "one after the other"
    plan = Strip(
        "whole plan",
        words.milliseconds(own),
        run.precision,
        track=_bar(scale, own, tone(run.precision)),
        tip=f"whole plan\n{words.milliseconds(own)}",
        data={"device": run.device, "precision": run.precision, "status": "passed"},
        strong=True,
    )
    return Figure(
        "libraries",
        "Next to other libraries",
        f"Medians for one batch, {where}. A library at fp16 or bf16 is given the images and gives "
        "the scores in that format, a plan in float32.",
        _table(run, own),
        (plan, *(_strip(row, scale) for row in run.peers)),
        axis(scale, [], "ms"),
        legend=legend(timed),
        heads=("time", "precision"),
    )


def _own(run: NetworkRun) -> float:
    """Milliseconds of the plan: those in turns with the peers, if there are any, else its own."""
    return run.plan.time_ms.median if run.plan and run.plan.time_ms else run.total_ms


def _strip(row: Row, scale: LinearAxis) -> Strip:
    if row.time_ms is None:
        return without_time(row)
    time = row.time_ms.median
    return Strip(
        row.strategy,
        words.milliseconds(time),
        badges=badges(row),
        track=_bar(scale, time, colour(row)),
        tip=tip(row),
        data=data(row),
    )


def _bar(scale: LinearAxis, time: float, style: str) -> Markup:
    picture = track(scale)
    svg.add(
        picture,
        "rect",
        class_=f"bar {style}",
        x=0,
        y=5,
        height=16,
        width=svg.percent(scale.at(time)),
    )
    return svg.markup(picture)


def _table(run: NetworkRun, own: float) -> FigureTable:
    batch = min(run.batch, run.images)
    plan = data(run.peers[0]) | {"precision": run.precision, "status": "passed"}
    error = words.figures(run.plan.error.budget_fraction, 2) if run.plan and run.plan.error else ""
    first = ("whole plan", run.precision, *_rates(batch, own), "", error, "")
    rows = [(plan, first), *((data(row), _cells(row, batch, own)) for row in run.peers)]
    return FigureTable(_COLUMNS, tuple(rows), frozenset({"library", "precision", "note"}))


def _cells(row: Row, batch: int, own: float) -> tuple[str, ...]:
    error = words.figures(row.error.budget_fraction, 2) if row.error else ""
    if row.time_ms is None:
        return (row.strategy, row.precision, *[""] * 3, error, f"{row.status}: {row.reason}")
    time = row.time_ms.median
    speed = f"{words.figures(time / own)} ×"
    return (row.strategy, row.precision, *_rates(batch, time), speed, error, row.reason)


def _rates(batch: int, time: float) -> tuple[str, str]:
    return words.figures(time, 4), f"{1e3 * batch / time:,.0f}"
