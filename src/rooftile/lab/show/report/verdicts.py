"""A published experiment, run again: each published number next to ours, with its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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
    track,
    upright,
)
from rooftile.lab.show.report.content import Reproduced

_COLUMNS = ("published number", "there", "here", "unit", "verdict", "document", "reason")
_SAME = 1.0
_UNMEASURED = "not measured"


def figure(run: Reproduced) -> Figure | None:
    """A mark for each of our numbers as a multiple of the published one; None where nothing was
    measured."""
    shown = [one for one in run.verdicts if one["verdict"] != _UNMEASURED]
    ratios = [ratio for one in shown if (ratio := _ratio(one))]
    if not shown:
        return None
    scale = Log.over([*ratios, _SAME, 0.5], room=2)
    return Figure(
        "verdicts",
        "Published numbers, and ours",
        "Ours as a multiple of the published number; on another machine than the document's a "
        "time need not be the same. Each verdict follows from what was measured or calculated.",
        FigureTable(
            _COLUMNS,
            tuple((_data(run), _cells(one)) for one in run.verdicts),
            frozenset({"published number", "unit", "verdict", "document", "reason"}),
        ),
        tuple(_strip(run, one, scale) for one in shown),
        axis(scale, [(_SAME, "published")], "ours / published") if ratios else EMPTY,
        heads=("verdict", "there, here"),
        strips_are="published number",
    )


def _ratio(one: Mapping[str, Any]) -> float | None:
    """Ours over the published number, where both are positive."""
    ours, published = one["ours"], one["value"]
    return ours / published if ours and published and ours / published > 0 else None


def _data(run: Reproduced) -> dict[str, str]:
    return {"device": run.device, "precision": "ieee", "status": "passed"}


def _strip(run: Reproduced, one: Mapping[str, Any], scale: Log) -> Strip:
    picture = track(scale)
    upright(picture, scale.at(_SAME), "roof")
    ratio = _ratio(one)
    if ratio is not None:
        spot = svg.place(picture, scale.at(ratio), TRACK / 2)
        wrong = " wrong" if one["verdict"] == "cannot be" else ""
        svg.symbol(spot, "ieee", f"mark ieee{wrong}")
    return Strip(
        f"{one['table']}: {one['key']}",
        one["verdict"],
        f"{_number(one['value'])}, {_number(one['ours'])} {one['unit']}".strip(),
        track=svg.markup(picture),
        tip=f"{one['document']}, {one['place']}\n{one['reason']}",
        data=_data(run),
    )


def _cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    where = f"{one['document']}, {one['place']}"
    numbers = _number(one["value"]), _number(one["ours"])
    name = f"{one['table']}: {one['key']}"
    return (name, *numbers, one["unit"], one["verdict"], where, one["reason"])


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return words.figures(value, 4)
