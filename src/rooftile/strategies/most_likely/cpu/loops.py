"""`loops`: one row after the other, on one thread.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 5.1.1.
"""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.layers.most_likely import MostLikely
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def each_row(scores, labels, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows.  A NaN is above every number, and the first one stays."""
    classes = sizes[0]
    for row in range(begin, end):
        best = 0
        if classes == 1 and scores[row] > 0.5:
            best = 1
        for k in range(1, classes):
            own, other = scores[row * classes + best], scores[row * classes + k]
            if own == own and not other <= own:
                best = k
        labels[row] = best


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "most_likely"
    name = "loops"
    parallel = False
    summary = "one row after the other, on one thread"

    def kernel(self, problem: MostLikely) -> ArrayKernel:
        return ArrayKernel(each_row, problem.images, (problem.classes,))


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
