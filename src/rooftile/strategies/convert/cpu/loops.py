"""`loops`: one element after the other, on one thread.

Source: IEEE 754-2019, section 4.3.1.
"""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.convert import Convert
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def each(x, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are numbers; numbers of 16 bits come as float32."""
    for i in range(begin, end):
        y[i] = x[i]


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "convert"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("given:* made:*")

    def kernel(self, problem: Convert) -> ArrayKernel:
        return ArrayKernel(each, problem.size, calculates=True)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
