"""The kernel of many independent accumulators, with which the compiler makes vectors.

x[slabs][columns][inner] is walked as rows of ``width`` neighbours, and each place of a row, a
*lane*, has an accumulator.  Where ``inner`` is small a row has several elements of each result:
``width`` is ``inner`` times a power of two, and the lanes of a result are joined at the end.  Where
it is large, a row's chunk of lanes is taken at a time.  64 rows are combined one after the other,
and what they give as a tree, so that the error grows with the tree's height only.

Rows that are far ahead are asked for: the processor's own prefetching leaves a fifth of the read
rate.

A unit is a segment of some rows.  Segments follow from the problem and not from the threads, so
that results do not depend on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.ops.patterns.reduce import Reduce

_LANES = 64
_CHUNK = 512
"""Lanes of a chunk, where a row has as many."""
_SEGMENT = 2**18
"""Elements of a segment."""
LEAF_ROWS = 64
_AHEAD = 32
"""Rows that are on their way from memory."""
_LINE_BYTES = 64
_LEVELS = 16

TEXT = """
def kernel(x, made, sizes, begin, end):
    columns, inner, chunks, segments, rows = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    together = sizes[5]
    own = np.empty(LANES, CARRIED)
    waiting = np.empty(WAITING, CARRIED)
    for unit in range(begin, end):
        segment, chunk = unit % segments, unit // segments % chunks
        slab, lane = unit // segments // chunks, chunk * LANES
        width = COUNT
        whole = columns // together
        first, last = segment * rows, min(segment * rows + rows, whole)
        leaves = 0
        for top in range(first, last, BLOCK):
            for k in range(width):
                own[k] = IDENTITY
            for row in range(top, min(top + BLOCK, last)):
                at = (slab * columns + row * together) * inner + lane
                for k in range(0, width, LINE):
                    prefetch2(x, at + k + AHEAD * together * inner)
                for k in range(width):
                    own[k] = combined(own[k], x[at + k])
            level = 0
            while (leaves >> level) & 1:
                for k in range(width):
                    own[k] = combined(waiting[level * LANES + k], own[k])
                level += 1
            for k in range(width):
                waiting[level * LANES + k] = own[k]
            leaves += 1
        for k in range(width):
            own[k] = IDENTITY
        if segment == segments - 1:
            # What is left behind the last whole row.
            at = (slab * columns + whole * together) * inner + lane
            for k in range((columns - whole * together) * inner):
                own[k] = combined(own[k], x[at + k])
        for level in range(LEVELS):
            if (leaves >> level) & 1:
                for k in range(width):
                    own[k] = combined(waiting[level * LANES + k], own[k])
        half = together // 2
        while half > 0:
            for k in range(half * inner):
                own[k] = combined(own[k], own[half * inner + k])
            half = half // 2
        to = (slab * segments + segment) * inner + lane
        for k in range(width // together):
            made[to + k] = own[k]
"""


@dataclass(frozen=True)
class Walk:
    """The order in which a problem's elements are visited."""

    slabs: int
    columns: int
    inner: int
    together: int
    """Adjacent elements of a result in a row."""
    chunks: int
    segments: int
    rows: int
    """Rows of a segment."""

    @classmethod
    def of(cls, problem: Reduce) -> Walk:
        columns, inner = problem.columns, problem.inner
        together = 1
        while 2 * together * inner <= _LANES:
            together *= 2
        width = min(together * inner, _CHUNK)
        rows = max(LEAF_ROWS, _SEGMENT // width)
        segments = max(1, -(-(columns // together) // rows))
        chunks = -(-together * inner // _CHUNK)
        return cls(problem.rows // inner, columns, inner, together, chunks, segments, rows)

    @property
    def units(self) -> int:
        return self.slabs * self.chunks * self.segments

    @property
    def sizes(self) -> NDArray[np.int64]:
        numbers = self.columns, self.inner, self.chunks, self.segments, self.rows, self.together
        return np.array(numbers, np.int64)

    def text(self, itemsize: int) -> str:
        """The kernel's text for elements of ``itemsize`` bytes; the lanes of a short row are a
        number in it."""
        lanes = min(self.together * self.inner, _CHUNK)
        count = str(lanes) if self.chunks == 1 else f"min({lanes}, inner - lane)"
        words: dict[str, Any] = {
            "WAITING": _LEVELS * lanes,
            "LANES": lanes,
            "LEVELS": _LEVELS,
            "BLOCK": LEAF_ROWS,
            "AHEAD": _AHEAD,
            "LINE": _LINE_BYTES // itemsize,
            "COUNT": count,
        }
        text = TEXT
        for word, value in words.items():
            text = text.replace(word, str(value))
        return text
