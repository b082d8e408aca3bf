"""What the scripts that write a page share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
"""The marks around what a page has from records."""


def filled(text: str, lines: Iterable[str]) -> str:
    """A page with the part between its marks made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", *lines, END + after])


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, one for each row."""
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    return lines + [f"| {' | '.join(cells)} |" for cells in rows]


def section(title: str, *parts: str | list[str]) -> list[str]:
    """A heading and what stands below it: paragraphs and lists of lines, each with a gap after."""
    lines = [f"## {title}", ""]
    for part in parts:
        lines += [part] if isinstance(part, str) else part
        lines.append("")
    return lines
