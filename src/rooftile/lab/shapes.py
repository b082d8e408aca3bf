"""Neighbours of a problem: sizes that no tile divides, and the smallest that there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from rooftile.errors import InputError
from rooftile.ops import Problem

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73)
_LARGEST = 80
"""Sizes up to this are tried for the smallest."""
_MOST_FLOPS = 10**8


def off_grid(problem: Problem) -> tuple[Problem, ...]:
    """Small problems of the same kind whose sizes are primes, or one more than its own."""
    names = _sizes(problem)
    found = []
    for first in (5, 9):
        for start in range(first, len(_PRIMES)):
            sizes = {name: _PRIMES[(start + i) % len(_PRIMES)] for i, name in enumerate(names)}
            # Counts of channels and maps need not grow with the image.
            small = {n: _PRIMES[1 + i % 3] for i, n in enumerate(names) if _is_count(n)}
            made = _with(problem, {**sizes, **small, "batch": 3})
            if made is not None:
                found.append(made)
                break
    more = _with(problem, {name: getattr(problem, name) + 1 for name in names})
    if more is not None:
        found.append(more.with_batch(2))
    return tuple(dict.fromkeys(one for one in found if one.flops <= _MOST_FLOPS))


def smallest(problem: Problem) -> tuple[Problem, ...]:
    """Problems of the same kind with one size, and with all sizes, as small as it can be."""
    base = off_grid(problem)
    if not base:
        return ()
    names, start = _sizes(problem), base[0].with_batch(1)
    found = [start]
    least = start
    for name in names:
        one = _least(start, name)
        found.append(one)
        least = _least(least, name)
    return tuple(dict.fromkeys([least, *found]))


def _least(problem: Problem, name: str) -> Problem:
    for size in range(1, _LARGEST):
        made = _with(problem, {name: size})
        if made is not None:
            return made
    return problem


def _sizes(problem: Problem) -> list[str]:
    """The names of the integer sizes besides the batch."""
    return [
        field.name
        for field in dataclasses.fields(problem)  # type: ignore[arg-type]
        if type(getattr(problem, field.name)) is int and field.name != "batch"
    ]


def _is_count(name: str) -> bool:
    return name in ("channels", "maps")


def _with(problem: Problem, sizes: Mapping[str, int]) -> Problem | None:
    known = {field.name for field in dataclasses.fields(problem)}  # type: ignore[arg-type]
    try:
        changed: Problem = dataclasses.replace(  # type: ignore[type-var]
            problem, **{name: size for name, size in sizes.items() if name in known}
        )
    except InputError:
        return None
    return changed
