"""`vectors`: four vectors of a row's sums stay in registers over all of its entries.

What it removes: loading and storing the sums for each entry.
"""

from __future__ import annotations

from rooftile.devices.cpu.native.vector import lanes
from rooftile.ops.features import features
from rooftile.ops.sparse.spmm import Spmm
from rooftile.strategies.spmm.cpu.loops import CpuSpmm

_VECTORS = 4
"""Vectors of sums at a time."""
_TEXT = """
def panel(values, column_index, b, c, first, last, width, at, to):
{zeros}
    for e in range(first, last):
        value = splat(values[e])
        place = column_index[e] * width + at
{sums}
{stores}


def part(values, column_index, b, c, first, last, width, at, to, left):
    sums = splat(0.0)
    for e in range(first, last):
        place = column_index[e] * width + at
        sums = fma(splat(values[e]), load_part(b, place, left), sums)
    store_part(c, to, sums, left)


def kernel(values, column_index, row_offsets, b, c, sizes, begin, end):
    width = sizes[0]
    whole = width // {panel} * {panel}
    for r in range(begin, end):
        first, last = row_offsets[r], row_offsets[r + 1]
        for at in range(0, whole, {panel}):
            panel(values, column_index, b, c, first, last, width, at, r * width + at)
        for at in range(whole, width, {lanes}):
            left = min({lanes}, width - at)
            part(values, column_index, b, c, first, last, width, at, r * width + at, left)
"""


def _text() -> str:
    each = range(_VECTORS)
    zeros = "\n".join(f"    sums{v} = splat(0.0)" for v in each)
    sums = "\n".join(
        f"        sums{v} = fma(value, load(b, place + {v * lanes()}), sums{v})" for v in each
    )
    stores = "\n".join(f"    store(c, to + {v * lanes()}, sums{v})" for v in each)
    return _TEXT.format(
        zeros=zeros, sums=sums, stores=stores, panel=_VECTORS * lanes(), lanes=lanes()
    )


class Vectors(CpuSpmm):
    """Takes float32 and float16."""

    name = "vectors"
    summary = "a row's sums in registers over all of its entries"
    takes = features("dtype:float16 index:int64")
    text = _text()

    def limits(self, problem: Spmm) -> str | None:
        return "its vectors are of float32" if problem.dtype == "float64" else None


STRATEGY = Vectors()
