"""The help of all commands, in groups, for ``rooftile --help`` and for ``rooftile`` alone."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping

_BEGIN = {
    "rooftile run lenet5": "classify images with a network that comes along",
    "rooftile devices": "see what there is to compute on, and what is missing",
    "rooftile list": "see the operations",
    "rooftile climb conv2d": "measure every way of computing one, up to the roof",
    "rooftile explain conv2d": "read why one takes the time that it takes",
    "rooftile --help": "see all commands; each has a --help of its own",
}
_INDENT = 14
"""Columns before what a command does."""
_WIDEST = 100


def where_to_begin() -> str:
    """The first commands to try, a line each."""
    wide = max(map(len, _BEGIN))
    return "where to begin:\n" + "\n".join(
        f"  {command:{wide}}  {what}" for command, what in _BEGIN.items()
    )


def grouped(groups: Mapping[str, tuple[str, ...]], purposes: Mapping[str, str]) -> str:
    """The commands in their groups, each with its purpose, for the width of the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size().columns - 2)
    parts = []
    for title, names in groups.items():
        told = [_lines(name, purposes[name], width) for name in names]
        parts.append(f"{title}:\n" + "\n".join(told))
    return "\n\n".join([*parts, where_to_begin()])


def _lines(name: str, purpose: str, width: int) -> str:
    return textwrap.fill(
        purpose,
        max(width, 2 * _INDENT),
        initial_indent=f"  {name:{_INDENT - 2}}",
        subsequent_indent=" " * _INDENT,
        break_on_hyphens=False,
    )
