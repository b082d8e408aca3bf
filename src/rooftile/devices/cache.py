"""The user's folders for compiled kernels, ceilings, data and history."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path


def cache_directory() -> Path:
    """The user's cache for rooftile; the environment's ``ROOFTILE_CACHE`` overrides it."""
    asked = os.environ.get("ROOFTILE_CACHE")
    if asked:
        return Path(asked)
    return _directory("cache", "~/.cache")


def history_file() -> Path:
    """The database of all records; the environment's ``ROOFTILE_HISTORY`` overrides its path.

    The file is user data and no cache, which may be emptied at any time. The path is kept, because
    every call of an operation on a GPU asks for it.
    """
    return _history_file(*(os.environ.get(name) for name in _HISTORY_VARIABLES))


_HISTORY_VARIABLES = ("ROOFTILE_HISTORY", "XDG_DATA_HOME", "HOME")


@lru_cache(maxsize=8)
def _history_file(named: str | None, *_: str | None) -> Path:
    if named:
        return Path(named)
    return _directory("data", "~/.local/share") / "history.sqlite"


def _directory(kind: str, usual: str) -> Path:
    """The user's directory for files of ours of a kind, where `platformdirs` has it. On Linux its
    rule is a line (freedesktop.org, "XDG Base Directory Specification"), and to import it takes
    longer than a first call needs for all the rest that is not an import."""
    if sys.platform == "linux":
        named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
        return Path(named if named.strip() else os.path.expanduser(usual)) / "rooftile"
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("rooftile"))
