"""`vectors`: sixteen elements at a time, those that are kept moved to a vector's front.

AVX-512 has an instruction for it (vcompressps), which takes any mask, so that nothing depends on
how the mask looks.

Source: Lemire, Boytsov, "Decoding billions of integers per second through vectorization" (Software:
Practice and Experience 45, 2015), for shuffles by a table where there is no such instruction.
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile.devices.cpu.native import source
from rooftile.devices.cpu.native.vector import lanes
from rooftile.ops import AnyArray
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.compact.cpu._parts import PartsStrategy

_LANES = 16
_BYTES = 4

_COUNT = f"""
def kernel(mask, places, sizes, begin, end):
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        first, last = count * part // parts, count * (part + 1) // parts
        whole = (last - first) // {_LANES} * {_LANES}
        found = 0
        for i in range(first, first + whole, {_LANES}):
            found += count_of(chosen(mask, i))
        for i in range(first + whole, last):
            found += mask[i] != 0
        places[part + 1] = found
"""
_COMPACT = f"""
def kernel(x, mask, places, y, sizes, begin, end):
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        first, last = count * part // parts, count * (part + 1) // parts
        place, behind = places[part], places[part + 1]
        i = first
        # A whole vector is stored; what is not kept of it is overwritten by the next.
        while place + {_LANES} <= behind:
            mask_here = chosen(mask, i)
            store(y, place, packed(load(x, i), mask_here))
            place += count_of(mask_here)
            i += {_LANES}
        while i + {_LANES} <= last:
            mask_here = chosen(mask, i)
            found = count_of(mask_here)
            store_part(y, place, packed(load(x, i), mask_here), found)
            place += found
            i += {_LANES}
        while i < last:
            if mask[i] != 0:
                y[place] = x[i]
                place += 1
            i += 1
"""


class Vectors(PartsStrategy):
    """Takes elements of four bytes, on processors with AVX-512."""

    name = "vectors"
    at_once = _LANES
    summary = "sixteen at a time, those that are kept moved to a vector's front"

    def limits(self, problem: Compact) -> str | None:
        if lanes() != _LANES:
            return "this processor has no AVX-512"
        if problem.itemsize != _BYTES:
            return f"its vectors are of {_BYTES} bytes, not of {problem.dtype}"
        return None

    def prepare(
        self, problem: Compact, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        count, compact = source("compact_count", _COUNT), source("compact_vectors", _COMPACT)
        return self.in_parts(problem, count, compact, threads)


STRATEGY = Vectors()
