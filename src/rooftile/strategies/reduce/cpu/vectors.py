"""Rung 3, `vectors`: segments of every row shared out over the cores, vectors of sums in each.

A segment's elements are added in blocks.  A block is added in as many independent sums as registers
hold, and the blocks' sums in double precision (those of bytes in 64 bits).  A last step adds the
segments of a row.  Segments follow from the problem and not from the threads, so that results do
not depend on the machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import native
from rooftile.ops import AnyArray
from rooftile.ops.reduce import Reduce
from rooftile.strategies import HostStrategy

_SEGMENT = 2**18
"""Most elements of a segment."""
_BLOCK = 4096
"""Elements that are added in single precision, or in 32 bits."""


@partial(native, flags="reassoc")
def _float_block(x, first, last):  # type: ignore[no-untyped-def]
    # Any order will do, so that the compiler adds vectors.
    total = np.float32(0.0)
    for j in range(first, last):
        total += x[j]
    return total


@native
def _byte_block(x, first, last):  # type: ignore[no-untyped-def]
    total = np.uint32(0)
    for j in range(first, last):
        total += np.uint32(x[j])
    return total


@native
def add_float_segments(x, partials, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are segments of rows."""
    columns, segments, block = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        row, segment = unit // segments, unit % segments
        first = row * columns + columns * segment // segments
        last = row * columns + columns * (segment + 1) // segments
        total = 0.0
        for at in range(first, last, block):
            total += _float_block(x, at, min(at + block, last))
        partials[unit] = total


@native
def add_byte_segments(x, partials, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are segments of rows."""
    columns, segments, block = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        row, segment = unit // segments, unit % segments
        first = row * columns + columns * segment // segments
        last = row * columns + columns * (segment + 1) // segments
        total = np.int64(0)
        for at in range(first, last, block):
            total += np.int64(_byte_block(x, at, min(at + block, last)))
        partials[unit] = total


class Vectors(HostStrategy):
    """Takes every problem."""

    operation = "reduce"
    name = "vectors"
    order = 3
    summary = "segments over the cores, vectors of independent sums, partial sums in double"

    def why_not(self, problem: Reduce) -> str | None:
        """None: it takes everything."""
        return None

    def units(self, problem: Reduce) -> int:
        """Segments of all rows."""
        return problem.rows * _segments(problem)

    def prepare(
        self, problem: Reduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        """See `HostStrategy.prepare`."""
        floats = problem.dtype == "float32"
        wide = "float64" if floats else "int64"
        add = cpu.Spread(add_float_segments if floats else add_byte_segments, (problem.dtype, wide))
        segments, units = _segments(problem), self.units(problem)
        sizes = np.array((problem.columns, segments, _BLOCK), np.int64)
        partials = cpu.aligned((problem.rows, segments), np.dtype(wide), "partial sums")
        turn = threading.Lock()

        def call(x: AnyArray, sums: AnyArray) -> None:
            with turn:
                add((x, partials), sizes, units, threads)
                sums[...] = partials.sum(axis=1).reshape(sums.shape)

        return call


def _segments(problem: Reduce) -> int:
    return -(-problem.columns // _SEGMENT)


STRATEGY = Vectors()
