"""Attributes of a module that lie in another one, which is imported on first use (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any


def attribute(module: str, places: Mapping[str, str], name: str) -> Any:
    """A module's attribute, which the module has from now on; ``places`` says where each lies.

    Raises `AttributeError` for any other name.
    """
    if name not in places:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(places[name]), name)
    setattr(sys.modules[module], name, found)
    return found


def names(module: str, places: Iterable[str]) -> list[str]:
    """What ``dir`` of a module lists: its own names, and those that are imported on first use."""
    return sorted({*vars(sys.modules[module]), *places})
