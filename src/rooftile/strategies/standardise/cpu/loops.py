"""`loops`: one element after the other, on one thread.

Source: LeCun, Bottou, Orr, Müller, "Efficient BackProp" (1998), section 4.3.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.patterns.standardise import Standardise
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def each(pixels, values, x, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are pixels."""
    for i in range(begin, end):
        x[i] = values[i // sizes[0] % sizes[1] * 256 + np.int64(pixels[i])]


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "standardise"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"

    def kernel(self, problem: Standardise) -> ArrayKernel:
        return ArrayKernel(each, problem.size, (problem.plane, problem.tables))


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
