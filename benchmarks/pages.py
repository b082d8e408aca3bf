"""What the scripts that write a page share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def own_name(stem: str, processor: str) -> str:
    """The name of the file of a record that each kind of processor has one of."""
    return f"{stem}-{'-'.join(re.findall('[a-z0-9]+', processor.lower()))}.json"


def filled(text: str, lines: Iterable[str], name: str = "measured") -> str:
    """A page with the part between its marks of this name made anew."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return "\n".join([before + begin, "", *lines, end + after])


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
