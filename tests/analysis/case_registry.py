"""Where the adapters of all topics are collected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Inputs = dict[str, Any]
ADAPTERS: dict[str, Callable[[dict], object]] = {}


def adapter(function: Callable[[Inputs], object]) -> Callable[[Inputs], object]:
    ADAPTERS[function.__name__] = function
    return function


def direct(kind: str, function: Callable[..., object], *names: str) -> None:
    """An adapter that hands the inputs of these names over in order."""
    ADAPTERS[kind] = lambda inputs: function(*(inputs[name] for name in names))
