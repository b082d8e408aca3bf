"""The commands of ``rooftile``: its own, and other distributions'.

A distribution adds a command by an entry point of the group ``rooftile.commands``: a module with
the functions ``add_arguments`` and ``command``, as the modules of `rooftile.cli.commands`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from rooftile.errors import InputError

_GROUP = "rooftile.commands"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "networks": ("run", "train", "predict"),
    "operations": ("list", "climb", "sweep", "explain", "tune"),
    "your own kernels": ("audit", "submit", "ranking"),
    "what was measured": ("history", "compare", "report", "reproduce"),
    "this machine": ("devices", "completion", "schema"),
}
OF_PAPERS = ("submit", "ranking", "reproduce")
"""Commands of the distribution ``rooftile-papers``."""
OWN = tuple(name for names in GROUPS.values() for name in names if name not in OF_PAPERS)


def groups() -> dict[str, tuple[str, ...]]:
    """The commands that are installed, by the titles under which help lists them."""
    there = {*OWN, *_of_others()}
    found = {title: tuple(n for n in names if n in there) for title, names in GROUPS.items()}
    others = tuple(sorted(there - {name for names in GROUPS.values() for name in names}))
    return found | ({"from other packages": others} if others else {})


def command_module(name: str) -> ModuleType:
    """The module of a command.  Raises `InputError` where its distribution is not installed."""
    if name in OWN:
        return importlib.import_module(f"rooftile.cli.commands.{name}")
    if (found := _of_others().get(name)) is not None:
        module: ModuleType = found.load()
        return module
    raise InputError(
        "command",
        repr(name),
        "the distribution rooftile-papers, which has it: pip install ./papers, in the folder of "
        "rooftile's sources",
    )


def is_known(name: str) -> bool:
    """True if a word is a command, also of a distribution that is not installed."""
    return name in OWN or name in OF_PAPERS or name in _of_others()


@cache
def _of_others() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=_GROUP)}
