"""The published experiments as a list: what each needs, and how long it takes."""

from __future__ import annotations

from typing import Any

from rooftile.cli.render.sheet import Sheet


def listed() -> tuple[list[dict[str, Any]], Sheet]:
    """Every experiment, for a program and for a person."""
    from rooftile_papers.reproduce.catalogue import EXPERIMENTS

    sheet = Sheet(
        "experiment",
        "device",
        "seconds",
        "quick",
        "what",
        numbers=["seconds", "quick"],
        wraps=["what"],
    )
    found = []
    for one in EXPERIMENTS.values():
        devices = []
        for number, (kind, times) in enumerate(one.needs.items()):
            full, quick = times
            devices.append({"kind": kind, "seconds": full, "quick_seconds": quick})
            shown = [f"{seconds:g}" for seconds in times]
            words = "" if number else one.title
            sheet.add_row("" if number else one.name, kind, *shown, words)
        figures = sum(len(table.figures) for table in one.tables())
        found.append(
            {
                "name": one.name,
                "title": one.title,
                "what": one.what,
                "devices": devices,
                "published_numbers": figures,
            }
        )
    return found, sheet
