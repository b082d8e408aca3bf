"""`loops`: one element after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.devices.cpu.native import native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies import HostStrategy
from rooftile.strategies.compact.cpu._parts import SEEN_AS


@native
def compact_in_order(x, mask, y, kept, sizes, begin, end):  # type: ignore[no-untyped-def]
    """There is one unit."""
    place = 0
    for i in range(sizes[0]):
        if mask[i] != 0:
            y[place] = x[i]
            place += 1
    kept[0] = place


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "compact"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("dtype:* ordered")

    def prepare(
        self, problem: Compact, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        seen = SEEN_AS[problem.itemsize]
        run = cpu.Spread(compact_in_order, (seen, "bool", seen, "int64"))
        sizes = np.array((problem.count,), np.int64)

        def call(x: AnyArray, mask: AnyArray, y: AnyArray, kept: AnyArray) -> None:
            run((x.view(seen), mask, y.view(seen), kept), sizes, 1, 1)

        return call

    def accesses(self, problem: Compact) -> Counted:
        """Every flag and element once; all are kept, at most."""
        count = problem.count
        return {"elements in order": through(2 * count, count, count, count)}


STRATEGY = Loops()
