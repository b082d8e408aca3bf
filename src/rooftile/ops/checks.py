"""Checks of a problem's sizes and options, and what the command line's text says of them."""

from __future__ import annotations

from typing import Any, TypeGuard, get_args

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops.array import Computed


def is_whole(value: Any) -> TypeGuard[int]:
    """True for a whole number of Python or NumPy, and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


REACH = 2**31
"""Steps, strides and divisors are below it: kernels have integers of 32 bits for them."""


def check_reach(**numbers: int) -> None:
    """Raise `InputError` for the first number that is not an integer from 1 to 2^31 - 1."""
    check_positive(**numbers)
    for name, number in numbers.items():
        if number >= REACH:
            raise InputError(name, repr(number), "an integer below 2^31")


def check_positive(**sizes: int) -> None:
    """Raise `InputError` for the first size that is not an integer of at least one."""
    for name, size in sizes.items():
        if not is_whole(size) or size < 1:
            raise InputError(name, repr(size), "an integer of at least 1")


def check_computed(dtype: str) -> None:
    """Raise `InputError` unless it is a dtype that dense problems are computed in."""
    if dtype not in get_args(Computed):
        raise unknown("dtype", dtype, get_args(Computed))


def check_seed(seed: int) -> None:
    """Raise `InputError` unless NumPy's generators take it: an integer of at least zero."""
    if not is_whole(seed) or seed < 0:
        raise InputError("seed", repr(seed), "an integer of at least 0")


def check_limit(limit_s: float) -> None:
    """Raise `InputError` unless it is a positive number of seconds, or infinity."""
    if not limit_s > 0:
        raise InputError("limit_s", repr(limit_s), "a positive number of seconds")


def pair(name: str, value: int | tuple[int, int], least: int) -> tuple[int, int]:
    """``value`` as a (vertical, horizontal) pair of integers of at least ``least``."""
    both = (value, value) if isinstance(value, int | np.integer) else value
    if (
        not isinstance(both, tuple | list)
        or len(both) != 2
        or any(not is_whole(v) or v < least for v in both)
    ):
        raise InputError(name, repr(value), f"an integer of at least {least}, or a pair of them")
    if max(both) >= REACH:
        raise InputError(name, repr(value), "integers below 2^31")
    return int(both[0]), int(both[1])


def integer_from_text(key: str, text: str) -> int:
    """An integer as the command line gives it.  Raises `InputError` naming the key."""
    try:
        return int(text)
    except ValueError:
        raise InputError(f"shape {key}", repr(text), "an integer") from None


def number_from_text(key: str, text: str) -> float:
    """A number as the command line gives it.  Raises `InputError` naming the key."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"shape {key}", repr(text), "a number") from None


def boolean_from_text(key: str, text: str) -> bool:
    """0 or 1 as the command line gives it.  Raises `InputError` naming the key."""
    if text not in ("0", "1"):
        raise InputError(f"shape {key}", repr(text), "0 or 1")
    return text == "1"


def pair_from_text(key: str, text: str) -> tuple[int, int]:
    """``A`` or ``AxB``.  Raises `InputError` naming the key."""
    first, _, second = text.partition("x")
    return integer_from_text(key, first), integer_from_text(key, second or first)
