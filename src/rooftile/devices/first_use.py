"""What is made at its first use, which several threads may reach at once."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

T = TypeVar("T")
_turn = threading.RLock()


def imported(name: str) -> Any:
    """A module of another package.  Raises `ImportError`.

    One thread imports at a time: CUDA's packages import each other in rings, and to break a
    deadlock between two threads Python shows one of them a half-made module.
    """
    with _turn:
        return sys.modules.get(name) or importlib.import_module(name)


def once(make: Callable[..., T]) -> Callable[..., T]:
    """The function's values are kept by its arguments, and made by one thread at a time."""
    kept, turn = cache(make), threading.RLock()

    @wraps(make)
    def made(*arguments: Any) -> T:
        with turn:
            return kept(*arguments)

    return made
