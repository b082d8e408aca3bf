"""Kernels of others that were audited or submitted: no rungs and no peers of the ladder."""

from __future__ import annotations

from dataclasses import replace

from rooftile.lab.show.report import bars
from rooftile.lab.show.report.chart import Figure, FigureTable
from rooftile.lab.show.report.content import Section


def figure(section: Section) -> Figure | None:
    """Bars like the ladder's; None where no foreign kernel was judged."""
    if not section.foreign:
        return None
    # Bars are coloured by precision, and nothing calls them peers.
    rows = tuple(replace(row, kind="strategy") for row in section.foreign)
    made = bars.figure(replace(section, rows=rows))
    columns = tuple("kernel" if name == "rung" else name for name in made.table.columns)
    speed = columns.index("speed-up")

    def kept(cells: tuple[str, ...]) -> tuple[str, ...]:
        return cells[:speed] + cells[speed + 1 :]

    return replace(
        made,
        name="foreign",
        title="Audited and submitted kernels",
        caption="Kernels of others, as an audit or a lab's grading timed them. They are neither "
        "rungs nor peers, and stand in no other figure.",
        table=FigureTable(
            kept(columns),
            tuple((data, kept(cells)) for data, cells in made.table.rows),
            frozenset({"kernel", "precision", "note"}),
        ),
        strips_are="kernel",
    )
