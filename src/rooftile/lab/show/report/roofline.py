"""The roofline plot: rate over arithmetic intensity, the measured roofs, every rung on it.

Source of the model: Williams, Waterman, Patterson, "Roofline: an insightful visual performance
model for multicore architectures", CACM 52 (2009).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from rooftile.lab.measure.ceilings.cpu import Roof
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.records import Row
from rooftile.lab.show.drawing import svg
from rooftile.lab.show.drawing.scale import Log
from rooftile.lab.show.report import words
from rooftile.lab.show.report.chart import Figure, FigureTable, colour, data, legend, tip
from rooftile.lab.show.report.content import Section

_HEIGHT, _BOTTOM = 460, 40
"""Pixels of the picture's height, and of the axis in it."""
_LINE = 15
"""Pixels between two labels."""


def figure(section: Section) -> Figure | None:
    """The roofline plot; None where nothing has a time, or where no ceilings are known."""
    roof, rows = section.roof, section.passed
    if roof is None or not rows or math.isnan(section.intensity):
        return None
    x, y = _scales(section, roof, rows)
    picture = svg.drawing(_HEIGHT, "roofline", role="group", aria_label=_summary(section, roof))
    _grid(picture, x, y)
    for rate, name in _matrix_rates(roof):
        if rate <= y.high:
            _roof(picture, x, y, Flat(rate, roof.bandwidth_gbps, name), "matrix")
    name = f"{words.rate(roof.fma_gflops, 'FLOP')} float32"
    _roof(picture, x, y, Flat(roof.fma_gflops, roof.bandwidth_gbps, name), "roof")
    _slope_label(picture, x, y, roof)
    _points(picture, section, x, y)
    return Figure(
        "roofline",
        "The roofline",
        f"Every rung does the same work on the same bytes, so all stand at "
        f"{words.figures(section.intensity)} FLOP for each compulsory byte; higher is faster. The "
        f"lines are what this device was measured to reach.",
        _table(section, roof),
        picture=svg.markup(picture),
        legend=legend(rows),
    )


class Flat:
    """A roof: a slope of memory up to a rate of arithmetic."""

    def __init__(self, gflops: float, gbps: float, name: str) -> None:
        self.gflops, self.gbps, self.name = gflops, gbps, name

    @property
    def ridge(self) -> float:
        """The intensity from which on arithmetic bounds, and not memory."""
        return self.gflops / self.gbps


def _scales(section: Section, roof: Roof, rows: Sequence[Row]) -> tuple[Log, Log]:
    ridge = roof.fma_gflops / roof.bandwidth_gbps
    rates = [row.gflops for row in rows if row.gflops]
    x = Log.over([ridge, section.intensity], room=8)
    reach = min(roof.bandwidth_gbps * x.low, *rates)
    tops = [rate for rate, _ in _matrix_rates(roof) if rate < 30 * max(rates)]
    return x, Log.over([reach, roof.fma_gflops, *rates, *tops], room=1.7)


def _matrix_rates(roof: Roof) -> list[tuple[float, str]]:
    """A GPU's matrix rates with the precisions that have them; rates that look alike are merged."""
    found: list[tuple[float, str]] = []
    rates = roof.matrix_gflops if isinstance(roof, GpuCeilings) else {}
    for name, rate in sorted(rates.items(), key=lambda item: -item[1]):
        if found and found[-1][0] < 1.1 * rate:
            found[-1] = (found[-1][0], f"{found[-1][1]}, {name}")
        else:
            found.append((rate, f"{words.rate(rate, 'FLOP')} {name}"))
    return found


def _up(y: Log, value: float) -> float:
    """A rate's pixels from the top."""
    return (_HEIGHT - _BOTTOM) * (1 - y.at(value) / 100)


def _grid(picture: svg.Element, x: Log, y: Log) -> None:
    foot = _HEIGHT - _BOTTOM
    for value in x.ticks():
        at = svg.percent(x.at(value))
        svg.add(picture, "line", class_="grid", x1=at, x2=at, y1=0, y2=foot)
        anchor = "start" if x.at(value) < 4 else "end" if x.at(value) > 96 else "middle"
        svg.add(
            picture, "text", words.tick(value), class_="tick", x=at, y=foot + 16, text_anchor=anchor
        )
    for value in y.ticks():
        up = _up(y, value)
        svg.add(picture, "line", class_="grid", x1=0, x2="100%", y1=up, y2=up)
        svg.add(
            picture, "text", words.rate(value, "FLOP", words.tick), class_="tick", x=0, y=up - 4
        )
    svg.add(picture, "text", "FLOP / byte", class_="unit", x="100%", y=foot + 34, text_anchor="end")


def _roof(picture: svg.Element, x: Log, y: Log, roof: Flat, style: str) -> None:
    # The slope begins where it enters the picture, at the left or at the foot.
    start = max(x.low, y.low / roof.gbps)
    ridge = min(max(roof.ridge, x.low), x.high)
    ends = [(start, start * roof.gbps), (ridge, ridge * roof.gbps), (x.high, roof.gflops)]
    for (x1, y1), (x2, y2) in itertools.pairwise(ends):
        svg.add(
            picture,
            "line",
            class_=style,
            x1=svg.percent(x.at(x1)),
            x2=svg.percent(x.at(x2)),
            y1=_up(y, y1),
            y2=_up(y, y2),
        )
    svg.add(
        picture,
        "text",
        roof.name,
        class_=f"named {style}",
        x="100%",
        text_anchor="end",
        y=_up(y, roof.gflops) - 6,
    )


def _slope_label(picture: svg.Element, x: Log, y: Log, roof: Roof) -> None:
    gbps = roof.bandwidth_gbps
    start, end = max(x.low, y.low / gbps), roof.fma_gflops / gbps
    middle = math.sqrt(start * end)
    spot = svg.place(picture, x.at(middle), _up(y, middle * gbps))
    svg.add(spot, "text", f"{words.rate(gbps, 'B')} memory", class_="named roof", x=10, y=14)


def _points(picture: svg.Element, section: Section, x: Log, y: Log) -> None:
    at = x.at(section.intensity)
    foot = _HEIGHT - _BOTTOM
    svg.add(
        picture, "line", class_="problem", x1=svg.percent(at), x2=svg.percent(at), y1=0, y2=foot
    )
    heights = [(_up(y, row.gflops), row) for row in section.passed if row.gflops]
    side = -1 if at > 60 else 1
    labels = dodge([height for height, _ in heights][: foot // _LINE], foot)
    # The slowest first: the fastest lie on top.
    for index, (height, row) in reversed(list(enumerate(heights))):
        group = svg.place(picture, at, height)
        group.attrib |= {"role": "img", "tabindex": "-1", "aria-label": tip(row)}
        group.attrib |= {f"data-{key}": value for key, value in data(row).items()}
        group.set("data-tip", tip(row))
        if index < len(labels):
            down = labels[index] - height
            path = f"M{8 * side} 0L{18 * side} {down:.1f}H{22 * side}"
            svg.add(group, "path", class_="leader", d=path)
            svg.add(
                group,
                "text",
                row.strategy,
                class_="label",
                x=26 * side,
                y=down + 4,
                text_anchor="start" if side > 0 else "end",
            )
        svg.symbol(group, row.precision, f"mark {colour(row)}")


def dodge(wanted: Sequence[float], foot: float) -> list[float]:
    """Heights of labels that neither overlap nor leave the plot, near the wanted ones.

    The wanted heights rise, and so does the result; there must be room for all labels.  Labels
    that would overlap make a block around the mean of where they want to be (the
    pool-adjacent-violators algorithm).
    """
    blocks: list[tuple[float, int]] = []  # Where the first label is, and how many there are.

    def inside(first: float, count: int) -> float:
        return min(max(first, _LINE / 2), foot - (count - 0.5) * _LINE)

    for height in wanted:
        first, count = inside(height, 1), 1
        while blocks and first < blocks[-1][0] + blocks[-1][1] * _LINE:
            above, more = blocks.pop()
            first = (above * more + (first - more * _LINE) * count) / (more + count)
            count += more
            first = inside(first, count)
        blocks.append((first, count))
    return [first + k * _LINE for first, count in blocks for k in range(count)]


def _summary(section: Section, roof: Roof) -> str:
    best = section.passed[0]
    return (
        f"Roofline plot with {len(section.passed)} rungs at {words.figures(section.intensity)} "
        f"FLOP for each byte. Roofs: {words.rate(roof.fma_gflops, 'FLOP')} and "
        f"{words.rate(roof.bandwidth_gbps, 'B')}. Fastest: {best.strategy}, "
        f"{words.rate(best.gflops or 0.0, 'FLOP')}. The numbers are in the table below."
    )


def _table(section: Section, roof: Roof) -> FigureTable:
    columns = (
        "rung",
        "precision",
        "FLOP / byte",
        "GFLOP/s",
        "of float32 rate",
        "GB/s",
        "of bandwidth",
    )
    rows = []
    for row in section.passed:
        flops, size = row.gflops or 0.0, row.gbps or 0.0
        numbers = (
            words.figures(section.intensity),
            words.figures(flops),
            words.share(flops / roof.fma_gflops),
            words.figures(size),
            words.share(size / roof.bandwidth_gbps),
        )
        rows.append((data(row), (row.strategy, row.precision, *numbers)))
    return FigureTable(columns, tuple(rows))
