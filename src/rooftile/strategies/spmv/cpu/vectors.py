"""`vectors`: `balanced` with explicit vectors that gather x, and with prefetches.

Values and indices are asked for some lines ahead: where each row begins anew, the processor's own
prefetcher stops short.
"""

from __future__ import annotations

from rooftile.devices.cpu.native.vector import gathers_in_hardware, lanes
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.spmv.cpu.balanced import Balanced

_AHEAD = 512
"""Entries from a load to its prefetch: 2 KiB of values."""
_MASKED = """
def piece(values, column_index, x, first, last):
    whole = first + (last - first) // LANES * LANES
    sums = splat(0.0)
    for e in range(first, whole, LANES):
        prefetch1(values, e + AHEAD)
        prefetch1(column_index, e + AHEAD)
        sums = fma(load(values, e), gather(x, column_index, e), sums)
    left = last - whole
    if left > 0:
        prefetch1(values, whole + AHEAD)
        prefetch1(column_index, whole + AHEAD)
        part = gather_part(x, column_index, whole, left)
        sums = fma(load_part(values, whole, left), part, sums)
    return total(sums)
"""
"""A masked vector at the end: a row of ten entries is one gather."""
_SINGLE = """
def piece(values, column_index, x, first, last):
    left = ZERO
    whole = first + (last - first) // LANES * LANES
    if whole > first:
        sums = splat(0.0)
        for e in range(first, whole, LANES):
            prefetch1(values, e + AHEAD)
            prefetch1(column_index, e + AHEAD)
            sums = fma(load(values, e), gather(x, column_index, e), sums)
        left = total(sums)
    prefetch1(values, whole + AHEAD)
    prefetch1(column_index, whole + AHEAD)
    for e in range(whole, last):
        left = left + values[e] * x[column_index[e]]
    return left
"""
"""One entry after the other at the end, and of short rows from the beginning, where a masked gather
takes longer than so few loads."""


def _piece() -> str:
    text = _MASKED if gathers_in_hardware() else _SINGLE
    return text.replace("AHEAD", str(_AHEAD)).replace("LANES", str(lanes()))


class Vectors(Balanced):
    """Takes CSR of float32 with indices of 32 bits."""

    name = "vectors"
    summary = "explicit vectors that gather x, over equal shares of the entries"
    takes = features("updated")
    piece = _piece()
    flags = "contract"

    def limits(self, problem: Spmv) -> str | None:
        if problem.dtype != "float32" or problem.index != "int32":
            return f"its vectors are of float32 and int32, not {problem.dtype} and {problem.index}"
        return super().limits(problem)


STRATEGY = Vectors()
