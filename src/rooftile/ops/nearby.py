"""Neighbours of a problem: sizes that no tile divides, and the smallest that there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from rooftile.errors import InputError

P = TypeVar("P", bound=Any)
"""A `Problem`, which is not imported because its module imports this one."""

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73)
_LARGEST = 80
"""Sizes up to this are tried for the smallest."""
_DRAWS = 5
"""How often sizes are drawn for each problem that is wanted: not all fit together."""
_LARGER, _LARGER_COUNTS, _LARGER_BATCHES = (97, 260), (33, 100), (257, 520)
"""From which sizes, counts and batches a larger one is drawn; the last is left out."""
_POWERS = (16, 32, 64, 128)
_SHAPES, _LARGEST_BITS = 4, 17
"""How many shapes are drawn, and the logarithm of the most elements that one has."""
_SMALL_BATCHES = (4, 5, 6, 7, 8)
_MOST_FLOPS = 10**8
"""A neighbour with more FLOPs than this is left out: its reference would take too long."""


def off_grid(problem: P) -> tuple[P, ...]:
    """Small problems of the same kind whose sizes are primes, or one more than its own."""
    names = _sizes(problem)
    found = []
    for first in (5, 9):
        for start in range(first, len(_PRIMES)):
            sizes = {name: _PRIMES[(start + i) % len(_PRIMES)] for i, name in enumerate(names)}
            # Counts of channels and maps need not grow with the image.
            small = {n: _PRIMES[1 + i % 3] for i, n in enumerate(names) if n in problem.counts}
            made = _with(problem, {**sizes, **small}, batch=3)
            if made is not None:
                found.append(made)
                break
    more = _with(problem, {name: getattr(problem, name) + 1 for name in names}, batch=2)
    if more is not None:
        found.append(more)
    return tuple(dict.fromkeys(one for one in found if one.flops <= _MOST_FLOPS))


def drawn(problem: P, generator: np.random.Generator, count: int) -> list[P]:
    """Problems of the same kind whose sizes and batch are drawn: about as large, at most."""
    found: list[P] = []
    for _ in range(_DRAWS * count):
        sizes = {
            name: int(generator.integers(max(1, own // 2), own + 4))
            for name in _sizes(problem)
            for own in (int(getattr(problem, name)),)
        }
        batch = problem.batch_size
        made = _with(
            problem, sizes, None if batch is None else int(generator.integers(1, batch + 9))
        )
        if made is not None and made.flops <= _MOST_FLOPS:
            found.append(made)
        if len(found) == count:
            break
    return found


def larger(problem: P, generator: np.random.Generator) -> list[P]:
    """Problems of the same kind that are small but for one size: each size once, and the batch, is
    drawn from those that are larger than usual tiles, and each is some power of two."""
    base = off_grid(problem)
    if not base:
        return []
    start = base[0] if base[0].batch_size is None else base[0].with_batch(2)
    found = [_with(problem, {"shape": shape}) for shape in _shapes(problem, generator)]
    for name in _sizes(problem):
        counts = name in problem.counts
        size = int(generator.integers(*(_LARGER_COUNTS if counts else _LARGER)))
        powers = generator.permutation(_POWERS)[: 1 if counts else None]
        found += [_with(start, {name: int(one)}) for one in (size, *powers)]
    if start.batch_size is not None:
        few = base[-1] if len(base) > 1 else start
        found += [start.with_batch(int(generator.integers(*_LARGER_BATCHES)))]
        found += [few.with_batch(batch) for batch in _SMALL_BATCHES]
    return [one for one in found if one is not None and one.flops <= _MOST_FLOPS]


def _shapes(problem: Any, generator: np.random.Generator) -> list[tuple[int, ...]]:
    """Drawn shapes of as many axes as a problem's own array has, half of them powers of two."""
    shape = getattr(problem, "shape", None)
    if not isinstance(shape, tuple) or not all(type(size) is int for size in shape):
        return []
    end = _LARGEST_BITS / len(shape)
    drawn = [2 ** generator.uniform(1, end, len(shape)) for _ in range(_SHAPES)]
    powers = [2 ** generator.integers(1, int(end), len(shape)) for _ in range(_SHAPES)]
    return [tuple(map(int, sizes)) for sizes in (*drawn, *powers)]


def smallest(problem: P) -> tuple[P, ...]:
    """Problems of the same kind in which one size, or every size, is as small as it can be."""
    base = off_grid(problem)
    if not base:
        return ()
    start = base[0] if base[0].batch_size is None else base[0].with_batch(1)
    found = [start]
    least = start
    for name in _sizes(problem):
        found.append(_least(start, name))
        least = _least(least, name)
    return tuple(dict.fromkeys([least, *found]))


def _least(problem: P, name: str) -> P:
    for size in range(1, _LARGEST):
        made = _with(problem, {name: size})
        if made is not None:
            return made
    return problem


def _sizes(problem: Any) -> list[str]:
    """The names of the integer sizes; the batch and the number of groups are none."""
    return [
        field.name
        for field in dataclasses.fields(problem)
        if type(getattr(problem, field.name)) is int and field.name not in ("batch", "groups")
    ]


def _with(problem: P, sizes: Mapping[str, Any], batch: int | None = None) -> P | None:
    try:
        changed: P = problem.resized(**sizes)
    except InputError:
        return None
    if batch is not None and changed.batch_size is not None:
        changed = changed.with_batch(batch)
    return changed
