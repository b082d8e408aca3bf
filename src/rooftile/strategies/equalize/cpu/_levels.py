"""The base of the CPU's strategies of `equalize`: counting gray levels, looking up bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.ops import AnyArray
from rooftile.ops.patterns.equalize import LEVELS, Equalize, table_of


@native
def exact_level(red, green, blue):  # type: ignore[no-untyped-def]
    """As the rule says it, in double precision."""
    first = 0.21 * (np.float64(red) / 255.0)
    second = 0.71 * (np.float64(green) / 255.0)
    third = 0.07 * (np.float64(blue) / 255.0)
    return int(255.0 * (first + second + third) + 0.5)


@native
def look_up(image, table, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are parts."""
    count, parts = sizes[0] * sizes[1], sizes[2]
    for part in range(begin, end):
        for i in range(count * part // parts, count * (part + 1) // parts):
            y[i] = table[image[i]]


def equalizing(
    problem: Equalize, count: Native, copies: int, parts: int, threads: int
) -> Callable[..., None]:
    """``count(image, tables, sizes)`` adds up levels: each part has ``copies`` tables.

    Sizes are pixels, channels, parts.
    """
    counting = cpu.Spread(count, ("uint8", "int64"))
    looking = cpu.Spread(look_up, ("uint8", "uint8", "uint8"))
    sizes = np.array((problem.pixels, problem.channels, parts), np.int64)
    tables = cpu.aligned((parts * copies, LEVELS), np.dtype(np.int64), "histograms of parts")
    turn = lock()

    def call(image: AnyArray, y: AnyArray) -> None:
        with turn:
            tables[...] = 0
            counting((image, tables), sizes, parts, threads)
            table = table_of(tables.sum(axis=0))
            looking((image, table, y), sizes, parts, threads)

    return call
