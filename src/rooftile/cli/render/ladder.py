"""The tables of a climb: a rung a line, with its time, its speed-up, its rate and its roof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rooftile.cli.render.output import bar, milliseconds, percent
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from rooftile.lab.measure.records import Row

_START = ("rung", "prec")
_TIMES = ("ms", "speed-up")


def gpu_table(rows: tuple[Row, ...], *, by_memory: bool = False) -> Sheet:
    """A rung a line, with what its most demanding kernel takes where the compiler tells.

    ``by_memory`` tells bytes a second instead of FLOP, for problems that memory bounds.
    """
    numbers = (*_TIMES, _rate(by_memory), "error", "cold", "roof", "regs", "smem", "spill", "occ")
    made = Sheet(*_START, *numbers, numbers=numbers)
    for row, start in _lines(made, rows, by_memory):
        used = row.resources
        counts = (used.registers, used.shared_bytes, used.spill_bytes)
        made.add_row(
            *start,
            milliseconds(row.cold_ms.median) if row.cold_ms else "",
            _roof(row),
            *("" if count is None else str(count) for count in counts),
            "" if used.occupancy is None else percent(used.occupancy),
        )
    return made


def rows_table(rows: tuple[Row, ...], *, unicode: bool, by_memory: bool = False) -> Sheet:
    """A rung a line, with a bar for its share of the roof; the peers after an empty line."""
    numbers = (*_TIMES, _rate(by_memory), "error", "roof")
    made = Sheet(*_START, *numbers, "", numbers=numbers)
    for row, start in _lines(made, rows, by_memory):
        share = row.roof_fraction
        made.add_row(*start, _roof(row), "" if share is None else bar(share, unicode=unicode))
    return made


def _rate(by_memory: bool) -> str:
    return "GB/s" if by_memory else "GFLOP/s"


def _lines(
    made: Sheet, rows: tuple[Row, ...], by_memory: bool
) -> Iterator[tuple[Row, tuple[str, ...]]]:
    """Each row with its first cells; an empty line is added before the peers."""
    first = next((row for row in rows if row.kind == "strategy" and row.time_ms), None)
    last = rows[0].kind if rows else ""
    for row in rows:
        if row.kind != last:
            made.add_row()
            last = row.kind
        yield row, _start(row, first, by_memory)


def _start(row: Row, first: Row | None, by_memory: bool) -> tuple[str, ...]:
    """Rung, precision, time or status, speed-up over the first rung, rate, error."""
    error = f"{row.error.budget_fraction:.2g}" if row.error else ""
    rate = row.gbps if by_memory else row.gflops
    if row.time_ms is None or rate is None:
        return (row.strategy, row.precision, row.status, "", "", error)
    time = ("" if row.time_ms.steady else "~") + milliseconds(row.time_ms.median)
    faster = f"{first.time_ms.median / row.time_ms.median:.3g}" if first and first.time_ms else ""
    return (row.strategy, row.precision, time, faster, f"{rate:.1f}", error)


def _roof(row: Row) -> str:
    """The share of the roof, marked where it is passed."""
    if row.roof_fraction is None:
        return ""
    return percent(row.roof_fraction) + "*" * (row.roof_fraction > 1)
