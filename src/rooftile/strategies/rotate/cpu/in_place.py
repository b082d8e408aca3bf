"""`in_place`: a row is turned around, and then each of its two parts.

It needs no second array: ``out`` may be x.  Where it is not, x is copied first.

Source: Gries, Mills, "Swapping Sections", Cornell University, TR 81-452 (1981).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies import HostStrategy


@native
def _reverse(y, first, last):  # type: ignore[no-untyped-def]
    for k in range((last - first) // 2):
        held = y[first + k]
        y[first + k] = y[last - 1 - k]
        y[last - 1 - k] = held


@native
def turn(y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    columns, places = sizes[0], sizes[1]
    for row in range(begin, end):
        start = row * columns
        _reverse(y, start, start + columns)
        _reverse(y, start, start + places)
        _reverse(y, start + places, start + columns)


class InPlace(HostStrategy):
    """Takes every problem."""

    operation = "rotate"
    name = "in_place"
    summary = "a row is turned around, and then each of its parts: out may be x"
    takes = features("dtype:*")

    def units(self, problem: Rotate) -> int:
        return problem.rows

    def native(self, problem: Rotate) -> tuple[Native, tuple[str, ...], bool]:
        return turn, (problem.dtype,), False

    def prepare(
        self, problem: Rotate, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        sizes = np.array((problem.columns, problem.places), np.int64)
        run = cpu.Spread(turn, (problem.dtype,))

        def call(x: AnyArray, y: AnyArray) -> None:
            if cpu.address(x) != cpu.address(y):
                y[...] = x
            run((y,), sizes, problem.rows, threads)

        return call


STRATEGY = InPlace()
