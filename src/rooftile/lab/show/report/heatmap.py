"""Trials of a tuning: the two tunables that matter most against each other, time as colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.lab.measure.records import Row, median
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import FigureTable, data, tip
from rooftile.lab.show.report.content import Section

STEPS = 8
"""Colours from the fastest to the slowest."""
_LISTED = 50
"""Trials in the table below the map, the fastest first."""


@dataclass(frozen=True)
class HeatCell:
    """The best time at one pair of values; its text, colour step and hover text."""

    text: str
    step: int | None
    """0 for the fastest; None without a time."""
    tip: str
    data: dict[str, str]
    best: bool = False


@dataclass(frozen=True)
class Heatmap:
    """A two-way table of one strategy's trials."""

    strategy: str
    precision: str
    caption: str
    rows_by: str
    columns_by: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell | None, ...]], ...]
    table: FigureTable


def heatmaps(section: Section) -> list[Heatmap]:
    """One for each strategy and precision that was tuned."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in section.trials:
        groups.setdefault((row.strategy, row.precision), []).append(row)
    return [_heatmap(trials) for trials in groups.values()]


def _heatmap(trials: list[Row]) -> Heatmap:
    rows_by, columns_by = axes(trials)
    cells: dict[tuple[Any, Any], list[Row]] = {}
    for row in trials:
        cells.setdefault((row.config.get(rows_by), row.config.get(columns_by)), []).append(row)
    times = [median(row) for row in trials if row.time_ms]
    fastest = min(times, default=math.inf)
    down = sorted({key[0] for key in cells}, key=_order)
    across = sorted({key[1] for key in cells}, key=_order)
    # The scale is that of the cells, which keep the best of what they hold.
    slowest = max((time for rows in cells.values() if (time := _best(rows)) < math.inf), default=0)
    lines = tuple(
        (
            str(a) if rows_by else "",
            tuple(
                _cell(cells[a, b], fastest, slowest) if (a, b) in cells else None for b in across
            ),
        )
        for a in down
    )
    return Heatmap(
        trials[0].strategy,
        trials[0].precision,
        _caption(trials, rows_by, columns_by),
        rows_by,
        columns_by,
        tuple(map(str, across)),
        lines,
        _table(trials),
    )


def _best(rows: Sequence[Row]) -> float:
    return min(map(median, rows))


def axes(trials: Sequence[Row]) -> tuple[str, str]:
    """The two tunables whose values change the best time most; the one with more values across.

    A name is empty where fewer than two tunables vary.
    """
    names = dict.fromkeys(name for row in trials for name in row.config)
    values = {name: {row.config.get(name) for row in trials} for name in names}
    varying = [name for name in names if len(values[name]) > 1]
    chosen = sorted(varying, key=lambda name: -_effect(trials, name))[:2]
    chosen.sort(key=lambda name: len(values[name]))
    if not chosen:
        return "", next(iter(names), "")
    return (chosen[0], chosen[1]) if len(chosen) == 2 else ("", chosen[0])


def _effect(trials: Sequence[Row], name: str) -> float:
    """The effect of a tunable: the ratio of its worst and its best value's best times."""
    best: dict[object, float] = {}
    for row in trials:
        value = row.config.get(name)
        best[value] = min(best.get(value, math.inf), median(row))
    times = [time for time in best.values() if time < math.inf]
    return max(times) / min(times) if times else 1.0


def _cell(rows: Sequence[Row], fastest: float, slowest: float) -> HeatCell:
    best = min(rows, key=median)
    if not best.time_ms:
        return HeatCell(
            best.status, None, f"{words.settings(best.config)}\n{best.reason}", data(best)
        )
    time = best.time_ms.median
    span = math.log(slowest / fastest)
    step = round((STEPS - 1) * math.log(time / fastest) / span) if span > 0 else 0
    more = f"\nbest of {len(rows)} trials" if len(rows) > 1 else ""
    said = f"{tip(best)}\n{words.figures(time / fastest)} × the fastest{more}"
    return HeatCell(words.figures(time), step, said, data(best), time == fastest)


def _order(value: object) -> tuple[int, float, str]:
    """Numbers by size, before words."""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, str(value)


def _caption(trials: Sequence[Row], rows_by: str, columns_by: str) -> str:
    passed = [row for row in trials if row.time_ms]
    failed = len(trials) - len(passed)
    text = f"{len(trials)} trials" + (f", of which {failed} have no time" if failed else "") + ". "
    if passed:
        best = min(passed, key=median)
        text += f"Fastest: {words.milliseconds(median(best))} with {words.settings(best.config)}. "
    pairs = [(row.config.get(rows_by), row.config.get(columns_by)) for row in trials]
    if len(set(pairs)) < len(pairs):
        text += "A cell is the best over all other tunables. "
    return text + "Milliseconds; the stronger the colour, the faster."


def _table(trials: Sequence[Row]) -> FigureTable:
    names = list(dict.fromkeys(name for row in trials for name in row.config))
    first = sorted(trials, key=median)[:_LISTED]
    rows = tuple(
        (
            data(row),
            (
                *(str(row.config.get(name, "")) for name in names),
                words.figures(median(row), 4) if row.time_ms else "",
                row.reason if row.time_ms else f"{row.status}: {row.reason}",
            ),
        )
        for row in first
    )
    return FigureTable((*names, "ms", "note"), rows, frozenset({"note"}))
