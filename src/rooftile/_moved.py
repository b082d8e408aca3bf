"""Modules under the names that documentation gave them before they moved."""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from typing import Any


class _Moved(types.ModuleType):
    """A module's old name: its attributes are the new one's, with a warning."""

    def __init__(self, name: str, new: str) -> None:
        super().__init__(name, f"Moved to `{new}`.")
        self.__path__: list[str] = []
        self._new = new

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # The import system asks for these.
            raise AttributeError(name)
        warnings.warn(f"{self.__name__} has moved to {self._new}", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(self._new), name)


def moved(package: str, **modules: str) -> None:
    """Let modules that ``package`` had by these names lead to the modules at the values."""
    for name, new in modules.items():
        old = f"{package}.{name}"
        sys.modules[old] = _Moved(old, new)
        setattr(sys.modules[package], name, sys.modules[old])
