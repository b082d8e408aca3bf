"""The commands' output: results to standard output, progress to standard error."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Say = Callable[[str], None]

BAR = 16
"""Characters of a bar that is full."""
_FULL_WIDTH = 10_000
"""Characters of a line that no screen limits."""
_NUMBER = re.compile(r"\d+")
_EIGHTHS = " ▏▎▍▌▋▊▉"


class Output:
    """Prints for a person, or one JSON object for a program."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._json: bool = arguments.json
        self.on_terminal = sys.stderr.isatty() or "FORCE_COLOR" in os.environ
        """True if progress is drawn on standard error: else Rich is not imported for it."""

    @property
    def _whole_lines(self) -> bool:
        """Lines for a pipe are never wrapped; a person's COLUMNS stays in force."""
        return not sys.stdout.isatty() and "COLUMNS" not in os.environ

    @cached_property
    def _out(self) -> Console:
        from rich.console import Console

        return Console(highlight=False, width=_FULL_WIDTH if self._whole_lines else None)

    @cached_property
    def progress(self) -> Console:
        """The console on standard error."""
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    def show(self, *items: RenderableType) -> None:
        """Print lines and tables; nothing under ``--json``.  Text is shown as it is."""
        if self._json:
            return
        for item in items:
            if isinstance(item, str) and self._whole_lines:
                # As Rich prints it, which takes longer to import than some commands take.
                print(item)
            else:
                self._out.print(item, markup=False)

    def warn(self, line: str) -> None:
        """Print a warning on standard error, also under ``--json``."""
        self.line(f"rooftile: warning: {line}")

    def line(self, line: str) -> None:
        """Print a line on standard error, in one piece, however long."""
        if self.on_terminal:
            self.progress.print(line, markup=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr)

    def path(self, path: Path) -> None:
        """Print a path to be copied: in one line, however long; nothing under ``--json``."""
        if not self._json:
            self._out.print(str(path), markup=False, soft_wrap=True)

    def result(self, value: dict[str, Any]) -> None:
        """Print the JSON object under ``--json``."""
        if self._json:
            json.dump(value, sys.stdout, indent=1, allow_nan=False)
            print()

    @contextlib.contextmanager
    def working(self, start: str) -> Iterator[Say]:
        """A line on standard error that says what is being done; lines, where it is no terminal."""
        if not self.on_terminal:
            said = [""]

            def say(line: str) -> None:
                # Where nothing is overwritten, a line whose numbers alone changed is no news.
                words = _NUMBER.sub("", line)
                if words != said[0]:
                    said[0] = words
                    self.line(line)

            say(start)
            yield say
            return
        from rich.markup import escape

        with self.progress.status(escape(start)) as status:
            yield lambda line: status.update(escape(line))

    @property
    def unicode(self) -> bool:
        """True if standard output takes block characters."""
        return (self._out.encoding or "").lower().replace("-", "").startswith("utf")


def bar(fraction: float, *, unicode: bool = True) -> str:
    """A bar of at most `BAR` characters for a share of 0 to 1; more than that fills it."""
    eighths = round(8 * BAR * min(max(fraction, 0.0), 1.0))
    if not unicode:
        return "#" * round(eighths / 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def quantity(value: float, unit: str) -> str:
    """A count with a decimal prefix, ``2.51 GFLOP``; of what has a name, ``2.51 billion lines``."""
    for factor, prefix, word in _FACTORS:
        if value >= factor:
            return f"{value / factor:.3g} {word + ' ' if unit.islower() else prefix}{unit}"
    return f"{value:.3g} {unit}"


_FACTORS = (
    (1e12, "T", "trillion"),
    (1e9, "G", "billion"),
    (1e6, "M", "million"),
    (1e3, "k", "thousand"),
)


def milliseconds(value: float) -> str:
    """A time with three figures or so, for a column of them."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def percent(fraction: float) -> str:
    """A share of one, rounded to whole percent; tenths below ten."""
    return f"{100 * fraction:.1f} %" if fraction < 0.0995 else f"{100 * fraction:.0f} %"
