"""A kernel's memory accesses on paper: the counts that a GPU's counters count too.

An access is counted as the kernel's text writes it; a compiler that keeps a value in a register
lowers the count, which a comparison with the counters shows. Sectors are L1 sectors: a warp's
request touches them, hits included.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

from rooftile.analysis.access import SECTOR_BYTES, run_sectors
from rooftile.analysis.launch import ceil_div

WARP = 32
SECTOR_FLOATS = 8


@dataclass(frozen=True)
class Accesses:
    """The accesses of one kernel over all its launches; the accesses of several kernels add up."""

    loads: float = 0
    """Elements that threads read from global memory."""
    load_requests: float = 0
    """Load instructions of warps."""
    load_sectors: float = 0
    stores: float = 0
    store_sectors: float = 0
    atomics: float = 0
    shared_reads: float = 0
    """Passes of shared memory for reads: one for each request without bank conflicts."""
    divergent_warps: int = 0
    """Warps that diverge where the kernel guards its result, each counted once."""
    conflicts: float = 0
    """Further passes of shared memory for reads, where lanes meet in a bank."""
    operations: float = 0
    """Combinations, comparisons or increments of elements that threads compute."""
    steps: float = 0
    """Dependent steps: one waits for the other. They are counted for a thread and for the passes of
    its block, over all launches."""
    turns: float = 0
    """Atomics that one address takes one after the other, if elements fall evenly."""
    turns_if_equal: float = 0
    """The same if all elements are equal."""

    def __add__(self, other: Accesses) -> Accesses:
        names = (field.name for field in dataclasses.fields(self))
        return Accesses(*(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def cache_passes(self) -> float:
        """Cycles that L1 and shared memory are busy with reads, of all multiprocessors together.
        Each of them gives a warp 128 bytes a cycle: four sectors, or 32 words of different banks.
        """
        shared = self.shared_reads + self.conflicts
        return max(self.load_requests, self.load_sectors / 4) + shared


Counted = Mapping[str, Accesses]
"""The accesses of each kernel of a strategy, by its name, over all launches."""


def row_loads(
    length: int,
    count: float,
    *,
    stride: int = 1,
    lanes: int = WARP,
    alignment: int = 1,
    elem_bytes: int = 4,
) -> Accesses:
    """Loads of ``count`` rows by ``length`` lanes each, whose elements lie ``stride`` apart.

    ``lanes`` of a warp read one row; each such run begins at any multiple of ``alignment``.
    """
    whole, rest = divmod(length, lanes)
    sectors = count * (
        whole * run_sectors(lanes, stride, elem_bytes, alignment)
        + run_sectors(rest, stride, elem_bytes, alignment)
    )
    requests = count * (whole + bool(rest)) * lanes / WARP
    return Accesses(loads=count * length, load_requests=requests, load_sectors=sectors)


def row_stores(
    length: int, count: float, *, stride: int = 1, lanes: int = WARP, elem_bytes: int = 4
) -> Accesses:
    """Stores like the loads of `row_loads`; rows follow each other in memory."""
    alignment = math.gcd(length * stride, SECTOR_BYTES // elem_bytes)
    found = row_loads(
        length, count, stride=stride, lanes=lanes, alignment=alignment, elem_bytes=elem_bytes
    )
    return Accesses(stores=found.loads, store_sectors=found.load_sectors)


def linear_stores(elements: int, elem_bytes: int = 4) -> Accesses:
    """Elements that threads store by linear index, in whole sectors."""
    sectors = ceil_div(elements * elem_bytes, SECTOR_BYTES)
    return Accesses(stores=elements, store_sectors=sectors)


def broadcasts(requests: float, lanes: float = WARP) -> Accesses:
    """Loads whose lanes all read one address, which take one sector each."""
    return Accesses(loads=requests * lanes, load_requests=requests, load_sectors=requests)


def scattered_loads(elements: float) -> Accesses:
    """Loads whose lanes lie a sector or more apart, which take a sector for each element."""
    return Accesses(elements, elements / WARP, elements)


def linear_loads(elements: float, row: int, *, stride: int = 1, share: float = 1) -> Accesses:
    """Elements that threads load by linear index, in rows of ``row`` that lie apart in memory.

    Rows and warps cut them into runs: one for each row and one for each warp, less where both cut
    at the same place.  A ``share`` of them is loaded; the others are ghost cells.
    """
    rows, warps = elements / row, elements / WARP
    runs = rows + warps - elements / math.lcm(row, WARP)
    # The mean of `run_sectors` is linear in the run's length; elements far apart take one each.
    step = min(1.0, stride / SECTOR_FLOATS)
    sectors = (elements - runs) * step + runs
    return Accesses(elements * share, warps, sectors * share)


def vector_loads(vectors: float, width: int = 4, elem_bytes: int = 4) -> Accesses:
    """Aligned loads of ``width`` neighbouring elements, whose lanes follow each other."""
    moved = vectors * width * elem_bytes
    return Accesses(vectors * width, vectors / WARP, moved / SECTOR_BYTES)


def beside(elements: float, elem_bytes: int = 4, width: int = 1) -> Accesses:
    """Aligned loads of ``width`` neighbours a lane, whose lanes follow each other."""
    return Accesses(elements, elements / width / WARP, elements * elem_bytes / SECTOR_BYTES)


def apart(elements: float, stride: int, elem_bytes: int = 4) -> Accesses:
    """Loads whose lanes lie ``stride`` elements apart, each request on its own."""
    share = min(1.0, stride * elem_bytes / SECTOR_BYTES)
    return Accesses(elements, elements / WARP, elements * share)


def stored_beside(elements: float, elem_bytes: int = 4) -> Accesses:
    """Aligned stores whose lanes follow each other."""
    return Accesses(stores=elements, store_sectors=elements * elem_bytes / SECTOR_BYTES)


def stored_apart(elements: float) -> Accesses:
    """Stores whose lanes lie a sector or more apart."""
    return Accesses(stores=elements, store_sectors=elements)


def inside(first: int, count: int, size: int) -> int:
    """Number of ``count`` indices from ``first`` on that are inside an array of ``size``."""
    return max(0, min(first + count, size) - max(first, 0))


def warps_of(threads: int) -> int:
    """ceil(threads / 32)"""
    return ceil_div(threads, WARP)
