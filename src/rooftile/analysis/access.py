"""Sectors and bursts that accesses to global memory touch, and banks of shared memory.

Source: PMPP, section 6.1 (coalescing, bursts), 6.2 (channels and banks of DRAM) and 5.4;
NVIDIA, "CUDA C++ Best Practices Guide" (sectors of 32 bytes, 32 banks of shared memory).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from rooftile.analysis._checks import check_above_zero, check_not_negative, check_sizes
from rooftile.analysis.launch import ceil_div
from rooftile.errors import InputError
from rooftile.ops.checks import check_positive

SECTOR_BYTES = 32
"""The unit in which NVIDIA's caches fetch."""


def strided_bandwidth(
    peak: float, burst_bytes: int, elem_bytes: int, stride: int, offsets: Sequence[int]
) -> float:
    """The most useful bandwidth where thread i reads A[stride i + o] for each offset o.

    peak x (bytes of the distinct elements read) / (bytes of the bursts that hold them), over a
    period of lcm(stride elem_bytes, burst_bytes), with A at the start of a burst; in the
    unit of ``peak``.  Where the stride divides a burst: peak x offsets / stride.
    PMPP, section 6.1.
    """
    check_above_zero(peak=peak)
    check_positive(burst_bytes=burst_bytes, elem_bytes=elem_bytes, stride=stride)
    if not offsets or min(offsets) < 0:
        raise InputError("offsets", list(offsets), "one or more, none below 0")
    period = math.lcm(stride * elem_bytes, burst_bytes) // elem_bytes
    read = {(first + o) % period for first in range(0, period, stride) for o in offsets}
    bursts = {
        burst
        for element in read
        for burst in _touched(element * elem_bytes, elem_bytes, burst_bytes)
    }
    return peak * len(read) * elem_bytes / (len(bursts) * burst_bytes)


def bursts_of_tile(rows: int, columns: int, elem_bytes: int, burst_bytes: int) -> int:
    """Bursts that hold a tile whose rows begin on burst boundaries.

    rows x ceil(columns elem_bytes / burst_bytes).  PMPP, section 6.1.
    """
    check_positive(rows=rows, columns=columns, elem_bytes=elem_bytes, burst_bytes=burst_bytes)
    return rows * ceil_div(columns * elem_bytes, burst_bytes)


def row_segments(tile: Sequence[int]) -> int:
    """Contiguous runs that a tile (x first, x contiguous) touches: the product of all but x."""
    return math.prod(check_sizes("tile", tile)[1:])


def run_sectors(
    elements: int,
    stride: int = 1,
    elem_bytes: int = 4,
    alignment: int = 1,
) -> float:
    """Sectors that a run of elements touches, on average over where in a sector it may begin.

    A run of b = ((elements - 1) stride + 1) elem_bytes bytes from byte s on touches
    (s + b - 1) div sector + 1 sectors; s is a multiple of ``alignment`` elements below a
    sector.  From anywhere (alignment 1): (b + sector - elem) / sector.  With a stride of a
    sector or more each element has one of its own.
    """
    check_not_negative(elements=elements)
    check_positive(stride=stride, elem_bytes=elem_bytes, alignment=alignment)
    if elements == 0:
        return 0.0
    if stride * elem_bytes >= SECTOR_BYTES:
        return float(elements)
    run = ((elements - 1) * stride + 1) * elem_bytes
    starts = range(0, SECTOR_BYTES, alignment * elem_bytes)
    return sum((s + run - 1) // SECTOR_BYTES + 1 for s in starts) / len(starts)


def coalesced(strides: Sequence[int]) -> bool:
    """True if neighbouring threads read neighbouring elements.

    ``strides`` are the index's increments for one step of threadIdx.x, then y, then z. A dimension
    with increment 0 is a broadcast; the first other one must have the stride 1.
    """
    if not strides:
        raise InputError("strides", list(strides), "one for each dimension of the block")
    return next((abs(stride) == 1 for stride in strides if stride), True)


def touched_sectors(addresses: Iterable[int], size: int = 4) -> int:
    """Sectors that a warp's accesses of ``size`` bytes at these byte addresses touch."""
    check_positive(size=size)
    return len({s for address in addresses for s in _touched(address, size, SECTOR_BYTES)})


def bank_conflicts(words: Iterable[int], banks: int = 32) -> int:
    """Passes that one warp's access to shared memory takes, by the 32-bit words that it reads.

    The most distinct words in one bank (word mod banks); threads that read the same word share
    it, so 1 means no conflict.
    """
    check_positive(banks=banks)
    return max(Counter(word % banks for word in set(words)).values(), default=0)


def stride_conflicts(stride: int, threads: int = 32, banks: int = 32) -> int:
    """Passes where thread t reads word t x stride: ceil(threads / (banks / gcd(stride, banks))).

    With stride 0 all read one word: one pass.
    """
    check_positive(threads=threads, banks=banks)
    if stride == 0:
        return 1
    return ceil_div(threads, banks // math.gcd(stride, banks))


def _touched(address: int, size: int, unit: int) -> range:
    return range(address // unit, (address + size - 1) // unit + 1)
