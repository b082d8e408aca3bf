"""Checks of arguments that the modules share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive


def check_sizes(name: str, sizes: Sequence[int], dims: int | None = None) -> tuple[int, ...]:
    """The sizes, one a dimension, each of at least 1; ``dims`` is how many there must be."""
    if not sizes or (dims is not None and len(sizes) != dims):
        expected = f"{dims} sizes" if dims is not None else "at least one size"
        raise InputError(name, list(sizes), expected)
    for size in sizes:
        check_positive(**{name: size})
    return tuple(sizes)


def check_above_zero(**values: float) -> None:
    """Raise `InputError` for the first value that is not a finite number above zero."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise InputError(name, value, "a finite number above 0")


def check_not_negative(**values: float) -> None:
    """Raise `InputError` for the first value that is not a finite number of at least zero."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0):
            raise InputError(name, value, "a finite number of at least 0")


def check_share(**values: float) -> None:
    """Raise `InputError` for the first value outside 0 to 1."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InputError(name, value, "a share from 0 to 1")
