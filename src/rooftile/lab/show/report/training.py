"""A training: losses and accuracies by epoch, and where the time of its first steps went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from markupsafe import Markup

from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import LinearAxis
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import Figure, FigureTable, Strip, axis, key, track

_HEIGHT, _ROOM, _EPOCHS = 190, 8, 16
"""Pixels of a curve's place, of the room over and under the curve, and of the epochs below it."""
_RIGHT = 95
"""Percent of the width from which a label ends where its place is."""
_STEPS = 3
"""Number of examined steps that the timeline shows."""


class Options(TypedDict):
    """The page's part of a training's options."""

    optimiser: str
    batch: int | None
    """None: all samples at once."""
    precision: NotRequired[str]


class Epoch(TypedDict):
    """An epoch's number and means; None where nothing was held out."""

    epoch: int
    loss: float
    holdout_loss: float | None
    holdout_accuracy: float | None


class Phase(TypedDict):
    """The calls of a phase of a layer, in milliseconds."""

    phase: str
    layer: str
    calls: int
    average_ms: float
    least_ms: float
    most_ms: float
    share: float


class CallSpan(TypedDict):
    """One of those calls."""

    phase: str
    layer: str
    start_ms: float
    ms: float


@dataclass(frozen=True)
class TrainingRun:
    """A run as ``train`` prints it."""

    model: str
    device: str
    hardware: str
    options: Options
    epochs: tuple[Epoch, ...]
    seconds: float
    environment: Mapping[str, Any]
    phases: tuple[Phase, ...] = ()
    timeline: tuple[CallSpan, ...] = ()

    @property
    def precision(self) -> str:
        """The format that the layers' operands were rounded to."""
        return str(self.options.get("precision", "ieee"))

    @property
    def data(self) -> dict[str, str]:
        """The values that the page's filters select by."""
        return {"device": self.device, "precision": self.precision, "status": "passed"}


def figures(run: TrainingRun) -> tuple[Figure, ...]:
    """The curves, and the timeline of a run that was profiled."""
    curves = [_losses(run)]
    accuracies = [one for epoch in run.epochs if (one := epoch["holdout_accuracy"]) is not None]
    if len(accuracies) == len(run.epochs):
        curves.append(_accuracy(run, accuracies))
    return (*curves, _timeline(run)) if run.timeline else tuple(curves)


def _losses(run: TrainingRun) -> Figure:
    lines = {"trained on": [epoch["loss"] for epoch in run.epochs]}
    held_out = [one for epoch in run.epochs if (one := epoch["holdout_loss"]) is not None]
    caption = "The mean loss of each epoch's steps."
    if len(held_out) == len(run.epochs):
        lines["held out"] = held_out
        best = min(range(len(held_out)), key=lambda k: held_out[k])
        caption += f" On what was held out it is least after epoch {run.epochs[best]['epoch']}."
    return _curves(run, "losses", "Loss by epoch", caption, lines)


def _accuracy(run: TrainingRun, accuracies: Sequence[float]) -> Figure:
    best = max(accuracies)
    caption = f"On what was held out; at best {100 * best:.2f} %."
    return _curves(run, "accuracy", "Accuracy by epoch", caption, {"held out": accuracies}, 1.0)


def _curves(
    run: TrainingRun,
    name: str,
    title: str,
    caption: str,
    lines: Mapping[str, Sequence[float]],
    most: float = 0.0,
) -> Figure:
    """Lines over the epochs, from nought on, with their numbers."""
    x = LinearAxis(max(2, len(run.epochs)))
    y = LinearAxis(most or max(max(values) for values in lines.values()) or 1.0)
    picture = svg.drawing(_HEIGHT + _EPOCHS, "curves", role="img", aria_label=caption)
    for value in y.ticks():
        height = _height(y, value)
        svg.add(picture, "line", class_="grid", x1="0%", x2="100%", y1=height, y2=height)
        svg.add(picture, "text", words.tick(value), x="0%", y=height - 3)
    svg.add(picture, "text", "epoch", x="0%", y=_HEIGHT + _EPOCHS - 4)
    for epoch in dict.fromkeys(round(tick) for tick in x.ticks() if tick >= 1):
        place, side = x.at(epoch), "end" if x.at(epoch) > _RIGHT else "middle"
        left, low = svg.percent(place), _HEIGHT + _EPOCHS - 4
        svg.add(picture, "text", words.tick(epoch), x=left, y=low, text_anchor=side)
    for style, values in zip(("curve", "curve held"), lines.values(), strict=False):
        _line(picture, style, x, y, values)
    columns = ("epoch", *lines)
    rows = tuple(
        (run.data, (str(epoch["epoch"]), *(words.figures(v, 5) for v in values)))
        for epoch, *values in zip(run.epochs, *lines.values(), strict=True)
    )
    styles = zip(("curve", "curve held"), lines, strict=False)
    legend = tuple((_sample(style), called) for style, called in styles) if len(lines) > 1 else ()
    return Figure(
        name, title, caption, FigureTable(columns, rows), picture=svg.markup(picture), legend=legend
    )


def _height(y: LinearAxis, value: float) -> float:
    """Pixels from the top."""
    return round(_HEIGHT - _ROOM - (_HEIGHT - 2 * _ROOM) * y.at(value) / 100, 2)


def _line(
    picture: svg.Element, style: str, x: LinearAxis, y: LinearAxis, values: Sequence[float]
) -> None:
    """A value an epoch, joined."""
    places = [(svg.percent(x.at(k)), _height(y, value)) for k, value in enumerate(values, 1)]
    for (left, high), (right, low) in zip(places, places[1:] or places, strict=False):
        svg.add(picture, "line", class_=style, x1=left, y1=high, x2=right, y2=low)


def _sample(style: str) -> Markup:
    """A line for the legend."""
    return key(lambda spot: svg.add(spot, "line", class_=style, x1=-7, x2=7, y1=0, y2=0))


def _timeline(run: TrainingRun) -> Figure:
    """When each phase of each layer ran in the first steps; shares are of the whole run."""
    spans = _first_steps(run.timeline)
    begin = min(span["start_ms"] for span in spans)
    scale = LinearAxis(max(span["start_ms"] + span["ms"] for span in spans) - begin)
    kinds = dict.fromkeys((span["phase"], span["layer"]) for span in spans)
    told = {(phase["phase"], phase["layer"]): phase for phase in run.phases}
    strips = []
    for kind in kinds:
        picture, found = track(scale), told[kind]
        for span in spans:
            if (span["phase"], span["layer"]) == kind:
                left = scale.at(span["start_ms"] - begin)
                width = max(scale.at(span["start_ms"] - begin + span["ms"]) - left, 0.2)
                place = {"x": svg.percent(left), "width": svg.percent(width)}
                svg.add(picture, "rect", class_="bar ieee", y=5, height=16, **place)
        average, share = words.milliseconds(found["average_ms"]), words.share(found["share"])
        said = f"{' '.join(kind).strip()}\n{found['calls']:,} calls, on average {average}"
        layer = (kind[1],) if kind[1] else ()
        drawn = svg.markup(picture)
        strips.append(Strip(kind[0], average, share, layer, drawn, tip=said, data=run.data))
    rows = tuple((run.data, _cells(phase)) for phase in run.phases)
    columns = ("phase", "layer", "share", "calls", "average ms", "least ms", "most ms")
    return Figure(
        "timeline",
        "Where the time goes",
        "The first steps that were looked at; behind each phase a call's average, and its share of "
        "the time of all calls.",
        FigureTable(columns, rows, frozenset({"phase", "layer"})),
        tuple(strips),
        axis(scale, [], "ms"),
        heads=("average", "share"),
        strips_are="phase",
    )


def _cells(phase: Mapping[str, Any]) -> tuple[str, ...]:
    times = (words.figures(phase[name], 4) for name in ("average_ms", "least_ms", "most_ms"))
    return (
        phase["phase"],
        phase["layer"],
        words.share(phase["share"]),
        f"{phase['calls']:,}",
        *times,
    )


def _first_steps(timeline: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The spans up to the end of the first steps, each of which ends with an update."""
    spans, done = list[Mapping[str, Any]](), 0
    for span in timeline:
        if span["phase"] != "update" and spans and spans[-1]["phase"] == "update":
            done += 1
        if done == _STEPS:
            break
        spans.append(span)
    return spans
