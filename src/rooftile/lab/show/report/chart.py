"""Common parts of the figures: strips under one axis, tables of their numbers, hover texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from rooftile.lab.measure.records import Row
from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import LinearAxis, Log
from rooftile.lab.show.report import words

Scale = LinearAxis | Log

PRECISIONS = ("ieee", "fast", "tf32", "fp16", "bf16")
EMPTY = Markup()
TRACK = 26
"""Height of a strip's picture in pixels."""


@dataclass(frozen=True)
class Strip:
    """One line of a chart: a name, a picture (or a reason why there is none), a value."""

    name: str
    value: str = ""
    detail: str = ""
    badges: tuple[str, ...] = ()
    track: Markup = EMPTY
    reason: str = ""
    tip: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    """The values that the page's filters look at."""
    strong: bool = False


@dataclass(frozen=True)
class FigureTable:
    """The numbers of a figure; columns named in ``text`` are left-aligned."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Mapping[str, str], tuple[str, ...]], ...]
    """The cells of each row, after its filter data."""
    text: frozenset[str] = frozenset({"rung", "precision", "note"})


@dataclass(frozen=True)
class Figure:
    """Strips over an axis, or one picture, with a caption, a legend and a table."""

    name: str
    title: str
    caption: str
    table: FigureTable
    strips: tuple[Strip, ...] = ()
    axis: Markup = EMPTY
    picture: Markup = EMPTY
    legend: tuple[tuple[Markup, str], ...] = ()
    heads: tuple[str, str] = ("", "")
    """Headings of a strip's value and its detail, with their units."""
    strips_are: str = "rung"
    """The kind of thing that a strip's name names."""


def data(row: Row) -> dict[str, str]:
    """The row's values that the filters select by."""
    return {"device": row.device, "precision": row.precision, "status": row.status}


def badges(row: Row) -> tuple[str, ...]:
    """Badges next to a name: a peer, and a precision other than the usual."""
    return ("peer",) * (row.kind == "peer") + (row.precision,) * (row.precision != "ieee")


def colour(row: Row) -> str:
    """CSS classes of a row: its precision's, and ``peer``."""
    return f"{tone(row.precision)} peer" if row.kind == "peer" else tone(row.precision)


def tone(precision: str) -> str:
    """A precision's CSS class, from the closed list of classes that have colours."""
    return precision if precision in PRECISIONS else "other"


def without_time(row: Row) -> Strip:
    """The strip of a row that failed, broke or was skipped, which says why."""
    return Strip(
        name=row.strategy,
        badges=badges(row),
        value=row.status,
        reason=row.reason,
        tip=f"{row.strategy} ({row.precision})\n{row.status}: {row.reason}",
        data=data(row),
    )


def tip(row: Row) -> str:
    """All that there is to say of a row that passed, line by line."""
    lines = [f"{row.strategy} ({row.precision}{', a peer' if row.kind == 'peer' else ''})"]
    if row.time_ms:
        warm = row.time_ms
        spread = f"{words.figures(warm.p20)} to {words.figures(warm.p80)}"
        lines.append(f"{words.milliseconds(warm.median)}, p20 to p80 {spread}, {warm.n} samples")
        if not warm.steady:
            lines.append("the median had not settled")
    if row.cold_ms:
        lines.append(f"cold {words.milliseconds(row.cold_ms.median)}")
    if row.gflops is not None and row.gbps is not None:
        lines.append(f"{words.rate(row.gflops, 'FLOP')}, {words.rate(row.gbps, 'B')}")
    if row.roof_fraction is not None:
        lines.append(f"{words.share(row.roof_fraction)} of the roof")
    if row.error:
        lines.append(f"error {words.figures(row.error.budget_fraction, 2)} of its budget")
    lines.append(words.settings(row.config))
    lines.append(row.reason)
    return "\n".join(filter(None, lines))


def track(scale: Scale, *, beyond: float | None = None) -> svg.Element:
    """A strip's picture with the axis's grid; the part ``beyond`` a value is shaded."""
    picture = svg.drawing(TRACK, "track", aria_hidden="true")
    if beyond is not None:
        start = scale.at(beyond)
        svg.add(
            picture,
            "rect",
            class_="beyond",
            x=svg.percent(start),
            y=0,
            width=svg.percent(100 - start),
            height=TRACK,
        )
    for value in scale.ticks():
        upright(picture, scale.at(value), "grid")
    return picture


def upright(picture: svg.Element, x: float, name: str) -> None:
    """A vertical line over the whole height."""
    svg.add(picture, "line", class_=name, x1=svg.percent(x), x2=svg.percent(x), y1=0, y2="100%")


def axis(scale: Scale, labels: Sequence[tuple[float, str]], unit: str) -> Markup:
    """The scale below the strips; ``labels`` are values that have names, over the numbers."""
    picture = svg.drawing(38, "axis", aria_hidden="true")
    for value in scale.ticks():
        _label(picture, scale.at(value), 14, words.tick(value), "tick")
    for value, name in labels:
        _label(picture, scale.at(value), 31, name, "named")
    # The unit stands at the end that no name is near.
    right = all(scale.at(value) < 60 for value, _ in labels)
    x, anchor = ("100%", "end") if right else ("0%", "start")
    svg.add(picture, "text", unit, class_="unit", x=x, y=31, text_anchor=anchor)
    return svg.markup(picture)


def _label(picture: svg.Element, x: float, y: float, text: str, name: str) -> None:
    anchor = "start" if x < 5 else "end" if x > 95 else "middle"
    svg.add(picture, "text", text, class_=name, x=svg.percent(x), y=y, text_anchor=anchor)


def legend(rows: Iterable[Row]) -> tuple[tuple[Markup, str], ...]:
    """A mark for each precision and for the peers, where there is more than one kind of them."""
    kinds = {"peer" if row.kind == "peer" else tone(row.precision): row for row in rows}
    if len(kinds) < 2:
        return ()
    order = (*PRECISIONS, "other", "peer")
    rows = [kinds[name] for name in order if name in kinds]
    return tuple((swatch(r), "peers" if r.kind == "peer" else r.precision) for r in rows)


def swatch(row: Row) -> Markup:
    """A row's mark by itself."""
    return key(lambda spot: svg.symbol(spot, row.precision, f"mark {colour(row)}"))


def key(draw: Callable[[svg.Element], object]) -> Markup:
    """A legend's small picture, drawn around its middle."""
    picture = svg.Element("svg", {"class": "swatch", "width": "16", "height": "14"})
    spot = svg.add(picture, "g", transform="translate(8 7)")
    draw(spot)
    picture.set("aria-hidden", "true")
    return svg.markup(picture)
