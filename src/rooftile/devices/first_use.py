"""Values made at their first use, which several threads may reach at once."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

from rooftile._locks import recursive_lock

T = TypeVar("T")
_turn = recursive_lock()


def imported(name: str) -> Any:
    """A module of another package.  Raises `ImportError`.

    One thread imports at a time: CUDA's packages import each other in rings, and to break a
    deadlock between two threads Python shows one of them a half-made module.
    """
    with _turn:
        return sys.modules.get(name) or importlib.import_module(name)


def once(make: Callable[..., T]) -> Callable[..., T]:
    """The function's values are kept by its arguments, and each is made once.

    `functools.cache` lets two threads that ask at the same time make a value each: the one that it
    keeps in the end replaces the other, which the first thread may be using by its address.
    """
    values: dict[tuple[Any, ...], T] = {}
    turn = recursive_lock()

    def made(*arguments: Any) -> T:
        with turn:
            if arguments not in values:
                values[arguments] = make(*arguments)
            return values[arguments]

    # A value that is there is found without a lock, in a tenth of the time that one takes.
    return wraps(make)(cache(made))
