"""`two_pass`: parts are counted, then compacted, by all cores and without a branch.

A branch that goes either way costs some twenty cycles each time it is guessed wrong. So every
element is stored, and the next one over it unless it was to be kept. A part ends with the last
element that it keeps, and not a store later: after it another part begins.

Source: PMPP, section 11.6.
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile.devices.cpu.native import native
from rooftile.ops import AnyArray
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.compact.cpu._parts import PartsStrategy


@native
def count_kept(mask, places, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are parts."""
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        found = 0
        for i in range(count * part // parts, count * (part + 1) // parts):
            found += mask[i] != 0
        places[part + 1] = found


@native
def compact_part(x, mask, places, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are parts."""
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        i, place, last = count * part // parts, places[part], places[part + 1]
        while place < last:
            y[place] = x[i]
            place += mask[i] != 0
            i += 1


class TwoPass(PartsStrategy):
    """Takes every problem."""

    name = "two_pass"
    summary = "parts are counted, then compacted, by all cores; no branches"

    def prepare(
        self, problem: Compact, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return self.in_parts(problem, count_kept, compact_part, threads)


STRATEGY = TwoPass()
