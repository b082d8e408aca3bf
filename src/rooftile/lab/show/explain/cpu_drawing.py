"""A CPU's strategy drawn: the threads of units of work, and its busiest loop."""

from __future__ import annotations

from rooftile.analysis.pictures import Cell, Panel, Role, panel
from rooftile.lab.show.explain.drawing import drawing
from rooftile.lab.show.explain.processor import CpuExplanation

_LEGEND: dict[Role, str] = {
    "core": "work of one thread; the number is the thread's",
    "made": "lanes and registers that the busiest loop uses; compulsory bytes",
    "used": "instructions of a pass that read or write memory; bytes between its parts",
    "padding": "arithmetic instructions of a pass",
    "other": "unused, or other instructions",
}
_CELLS, _MOST_THREADS = 24, 16
"""Cells of a row, and rows of threads that are drawn."""


def cpu_picture(found: CpuExplanation) -> str:
    """As SVG."""
    return drawing((*_threads(found), *_loop(found), *_traffic(found)), _LEGEND)


def _threads(found: CpuExplanation) -> list[Panel]:
    """A row for each thread with the units that fall to it, if none comes late."""
    if found.units is None:
        # A library shares its work out as it likes.
        threads = min(found.threads, _MOST_THREADS)
        return [panel("a library's threads", (threads, 1), lambda i, _: Cell("core", str(i)))]
    threads, units = min(found.threads, _MOST_THREADS), found.units
    each = -(-units // found.threads)
    cells = min(each, _CELLS)
    few = f" (the first {threads})" if threads < found.threads else ""
    scale = f", {each / cells:.3g} a cell" if each > cells else ""
    title = f"{units:,} units of work over {found.threads} threads{few}{scale}"
    shares = [units * (i + 1) // found.threads - units * i // found.threads for i in range(threads)]

    def cell(i: int, j: int) -> Cell | None:
        return Cell("core", str(i)) if j < -(-shares[i] * cells // each) else None

    return [panel(title, (threads, cells), cell)]


def _loop(found: CpuExplanation) -> list[Panel]:
    """The busiest loop's vector, registers and instructions."""
    loop = found.loop
    if loop is None:
        return []
    lanes, registers = found.vector_lanes, 32 if found.vector_lanes == 16 else 16
    arithmetic = loop.vector_operations + loop.scalar_operations
    rows = -(-loop.instructions // _CELLS)

    def instruction(i: int, j: int) -> Cell | None:
        k = i * _CELLS + j
        if k >= loop.instructions:
            return None
        if k < arithmetic:
            return Cell("padding")
        return Cell("used" if k < arithmetic + loop.loads + loop.spills else "other")

    return [
        panel(
            f"{loop.lanes} of a vector's {lanes} lanes",
            (1, lanes),
            lambda i, j: Cell("made" if j < loop.lanes else "other", str(j)),
        ),
        panel(
            f"{loop.registers} of {registers} vector registers",
            (registers // 8, 8),
            lambda i, j: Cell("made" if 8 * i + j < loop.registers else "other"),
        ),
        panel(f"{loop.instructions} instructions a pass", (rows, _CELLS), instruction),
    ]


def _traffic(found: CpuExplanation) -> list[Panel]:
    """The compulsory bytes, and what is written and read again between a strategy's parts."""
    sizes = {"compulsory": found.problem.bytes}
    sizes |= {what: 2 * size for what, size in found.round_trips.items()}
    each = max(sizes.values()) / _CELLS

    def row(what: str, size: int) -> Panel:
        role: Role = "made" if what == "compulsory" else "used"
        return panel(
            f"{what}: {size / 1e6:.3g} MB", (1, max(1, round(size / each))), lambda *_: Cell(role)
        )

    return [row(*item) for item in sizes.items()] if found.round_trips else []
