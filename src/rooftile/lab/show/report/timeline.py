"""A network's operations one after another, and its whole plan."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import LinearAxis
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import Figure, FigureTable, Strip, axis, tone, track
from rooftile.lab.show.report.content import NetworkRun

_LEAST = 2
"""Pixels of the shortest operation."""


def figure(run: NetworkRun) -> Figure:
    """A bar from where an operation begins to where it ends, if each were run by itself."""
    alone = sum(run.op_times_ms.values())
    scale = LinearAxis(max(alone, run.total_ms))
    strips = [_operation(run, name, start, scale) for name, start in _starts(run)]
    strips.append(_whole(run, scale))
    return Figure(
        "timeline",
        "Timeline of the operations",
        f"Each operation timed by itself, end to end: {words.milliseconds(alone)}. The whole plan, "
        f"run as one, takes {words.milliseconds(run.total_ms)}.",
        _table(run, alone),
        tuple(strips),
        axis(scale, [], "ms"),
        heads=("time", "share"),
        strips_are="operation",
    )


def _starts(run: NetworkRun) -> Iterator[tuple[str, float]]:
    start = 0.0
    for name, time in run.op_times_ms.items():
        yield name, start
        start += time


def _data(run: NetworkRun) -> dict[str, str]:
    return {"device": run.device, "precision": run.precision, "status": "passed"}


def _operation(run: NetworkRun, name: str, start: float, scale: LinearAxis) -> Strip:
    time, strategy = run.op_times_ms[name], run.strategies.get(name, "")
    share = time / sum(run.op_times_ms.values())
    said = f"{name}: {strategy}\n{words.milliseconds(time)} by itself\n"
    said += f"{words.share(share)} of all operations"
    bar = _bar(scale, start, time, f"op {tone(run.precision)}")
    return Strip(
        name,
        words.milliseconds(time),
        words.share(share),
        (strategy,),
        bar,
        tip=said,
        data=_data(run),
    )


def _whole(run: NetworkRun, scale: LinearAxis) -> Strip:
    said = f"whole plan\n{words.milliseconds(run.total_ms)}, {run.images_per_s:,.0f} images/s"
    return Strip(
        "whole plan",
        words.milliseconds(run.total_ms),
        track=_bar(scale, 0.0, run.total_ms, "whole"),
        tip=said,
        data=_data(run),
        strong=True,
    )


def _bar(scale: LinearAxis, start: float, time: float, style: str) -> Markup:
    picture = track(scale)
    left, right = scale.at(start), scale.at(start + time)
    svg.add(
        picture,
        "rect",
        class_=f"bar {style}",
        x=svg.percent(left),
        y=5,
        height=16,
        width=svg.percent(right - left),
    )
    if right - left < 1:  # Percent: too thin to be seen on a phone.
        svg.add(
            svg.place(picture, left, 5),
            "rect",
            class_=f"bar {style.removeprefix('op ')}",
            width=_LEAST,
            height=16,
        )
    return svg.markup(picture)


def _table(run: NetworkRun, alone: float) -> FigureTable:
    rows = [
        (name, run.strategies.get(name, ""), words.figures(time, 4), words.share(time / alone))
        for name, time in run.op_times_ms.items()
    ]
    rows.append(("whole plan", "", words.figures(run.total_ms, 4), ""))
    columns = ("operation", "strategy", "ms", "of all operations")
    return FigureTable(
        columns, tuple((_data(run), row) for row in rows), frozenset({"operation", "strategy"})
    )
