"""Accesses of products on tensor cores: tiles are loaded to shared memory, and read there.

A slice of terms is loaded once for each tile that it belongs to, in whole sectors. Every operand is
read once for each warp, or warpgroup, that multiplies it.
"""

from __future__ import annotations

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import WARP, Accesses, row_loads, row_stores

_PASS_BYTES = 128
"""Bytes that shared memory delivers in a cycle."""


def brought(elements: float, size: int, piece: int | None = None) -> Accesses:
    """Elements of ``size`` bytes that are copied to shared memory of ``piece`` of them.

    Without a piece the copy engine copies them, without a thread's loads.
    """
    requests = elements / (piece * WARP) if piece else 0.0
    return Accesses(elements, requests, elements * size / SECTOR_BYTES)


def operands(nbytes: float) -> Accesses:
    """``nbytes`` of operands, read from shared memory without bank conflicts."""
    return Accesses(shared_reads=nbytes / _PASS_BYTES)


def laid(elements: float, made: float, size: int) -> Accesses:
    """A matrix of float32 that is read once, and ``made`` elements of ``size`` bytes that are
    written in the order of the cores."""
    stores = Accesses(stores=made, store_sectors=made * size / SECTOR_BYTES)
    return brought(elements, 4, 1) + stores


def added_parts(results: int, parts: int) -> Accesses:
    """A thread a result, which adds the sums of the parts."""
    return row_loads(results, parts, alignment=8) + row_stores(results, 1)
