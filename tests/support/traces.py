"""The requests of some kernels' warps, followed thread by thread as their texts are written."""

from __future__ import annotations

import itertools

import pytest

from rooftile.analysis.access import touched_sectors


class Trace:
    """Counts what warps ask of global memory, in elements of so many bytes."""

    def __init__(self, elem_bytes=4):
        self.elem_bytes = elem_bytes
        self.loads = self.requests = self.sectors = self.stores = self.store_sectors = 0

    def load(self, elements):
        """One instruction of a warp: the element that each active lane reads."""
        elements = list(elements)
        if elements:
            self.loads += len(elements)
            self.requests += 1
            self.sectors += self._touched(elements)

    def store(self, elements):
        elements = list(elements)
        self.stores += len(elements)
        self.store_sectors += self._touched(elements)

    def _touched(self, elements):
        size = self.elem_bytes
        return touched_sectors((size * e for e in elements), size)


def warps(width, height):
    """Threads (x, y) of a block, a warp at a time."""
    threads = [(t % width, t // width) for t in range(width * height)]
    return [threads[first : first + 32] for first in range(0, len(threads), 32)]


def blocks(rows, columns, down, across):
    """First result of each block of a plane."""
    return itertools.product(range(0, rows, down), range(0, columns, across))


def exact(found, trace):
    """A model's loads and stores are the threads' own."""
    assert found.loads == pytest.approx(trace.loads, rel=1e-9)
    assert found.stores == trace.stores
