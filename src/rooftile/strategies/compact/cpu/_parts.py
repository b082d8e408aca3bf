"""The base of the CPU's strategies of `compact`: parts of the arrays, and their dtypes.

Elements are only moved, so a kernel sees any dtype as one of the same size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies import HostStrategy

SEEN_AS = {1: "uint8", 2: "uint16", 4: "float32", 8: "int64"}
"""By the bytes of an element."""
_MOST_PARTS = 64
_PART = 4096
"""Least elements of a part."""


class PartsStrategy(HostStrategy):
    """Parts are counted by all cores, and compacted by all cores to where they belong.

    The mask is read twice; in return the cores work at once.
    """

    operation = "compact"
    takes = features("dtype:* ordered")
    at_once: ClassVar[int] = 1
    """Elements that one step moves."""

    def units(self, problem: Compact) -> int:
        return max(1, min(_MOST_PARTS, problem.count // _PART))

    def accesses(self, problem: Compact) -> Counted:
        """The mask twice; an element's index waits for the one before, ``at_once`` adjacent ones at
        a time."""
        count, share = problem.count, -(-problem.count // self.units(problem))
        steps = -(-share // self.at_once)
        return {
            "counts of parts": through(count, self.units(problem), count, steps),
            "elements to their places": through(2 * count, count, count, steps),
        }

    def in_parts(
        self, problem: Compact, count: Native, compact: Native, threads: int
    ) -> Callable[..., None]:
        """``count(mask, places, sizes)`` writes how many elements of part p are kept to
        ``places[p + 1]``, and ``compact(x, mask, places, y, sizes)`` those elements of part p from
        ``y[places[p]]`` on; ``sizes`` are elements and parts."""
        seen, parts = SEEN_AS[problem.itemsize], self.units(problem)
        counting = cpu.Spread(count, ("bool", "int64"))
        compacting = cpu.Spread(compact, (seen, "bool", "int64", seen))
        sizes = np.array((problem.count, parts), np.int64)
        places = cpu.aligned((parts + 1,), np.dtype(np.int64), "places of parts")
        turn = lock()

        def call(x: AnyArray, mask: AnyArray, y: AnyArray, kept: AnyArray) -> None:
            with turn:
                places[0] = 0
                counting((mask, places), sizes, parts, threads)
                np.cumsum(places, out=places)
                compacting((x.view(seen), mask, places, y.view(seen)), sizes, parts, threads)
                kept[0] = places[parts]

        return call
