"""Tables that never cut off a name, a number or an id.

Where a table is wider than the screen, its empty columns go, then words wrap between words, then
columns go below each other, each part with the table's first column where that fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table
    from rich.text import Text

_GAP = 2
"""Characters between two columns."""


class Sheet:
    """Rows of cells under headings, laid out for the width that there is when it is printed."""

    def __init__(
        self, *headings: str, numbers: Iterable[str] = (), wraps: Iterable[str] = ()
    ) -> None:
        """Columns named in ``numbers`` are right-aligned, those in ``wraps`` hold words."""
        self.headings = headings
        self._numbers, self._wraps = frozenset(numbers), frozenset(wraps)
        self._rows: list[tuple[str | Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """A row; columns without a cell stay empty, and a row without cells is an empty line."""
        self._rows.append((*cells, *[""] * (len(self.headings) - len(cells))))

    def column(self, heading: str) -> list[str]:
        """The text of a column's cells."""
        place = self.headings.index(heading)
        return [str(row[place]) for row in self._rows]

    def parts(self, width: int) -> list[list[int]]:
        """The columns of each table that is printed, for a screen of ``width`` characters."""
        filled = [place for place in range(len(self.headings)) if self._is_filled(place)]
        parts: list[list[int]] = []
        free = -1
        for place in filled:
            needed = self._least(place) + _GAP
            if needed > free + _GAP:
                first = filled[0]
                fits = self._least(first) + needed <= width
                repeated = [first] if place != first and fits else []
                parts.append(repeated)
                free = width - sum(self._least(other) + _GAP for other in repeated)
            parts[-1].append(place)
            free -= needed
        return parts

    def widths(self, part: Sequence[int], width: int) -> list[int]:
        """The characters that each column of a part gets: those that wrap share what is left."""
        least = [self._least(place) for place in part]
        wanted = [self._longest(place) - few for place, few in zip(part, least, strict=True)]
        free = width - sum(least) - _GAP * (len(part) - 1)
        share = min(1.0, max(0, free) / max(1, sum(wanted)))
        return [few + int(share * more) for few, more in zip(least, wanted, strict=True)]

    def _is_filled(self, place: int) -> bool:
        return not self._rows or any(str(row[place]).strip() for row in self._rows)

    def _least(self, place: int) -> int:
        """The least width of a column: its longest word, if it wraps."""
        if self.headings[place] not in self._wraps:
            return self._longest(place)
        return max((len(word) for cell in self._cells(place) for word in cell.split()), default=0)

    def _longest(self, place: int) -> int:
        return max(map(len, self._cells(place)))

    def _cells(self, place: int) -> list[str]:
        return [self.headings[place], *(str(row[place]) for row in self._rows)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See Rich's protocol."""
        for number, part in enumerate(self.parts(options.max_width)):
            if number:
                yield ""
            yield self._table(part, self.widths(part, options.max_width))

    def _table(self, part: Sequence[int], widths: Sequence[int]) -> Table:
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, padding=(0, _GAP - 1), pad_edge=False, header_style="bold")
        for place, width in zip(part, widths, strict=True):
            name = self.headings[place]
            made.add_column(
                Text(name),
                justify="right" if name in self._numbers else "left",
                no_wrap=name not in self._wraps,
                # Rich makes a table too wide where several columns wrap.
                width=width,
                overflow="fold",
            )
        for row in self._rows:
            cells = (row[place] for place in part)
            made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
        return made
