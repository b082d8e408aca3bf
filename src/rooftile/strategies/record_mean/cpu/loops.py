"""`loops`: one value after the other, on one thread.

Source: Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapter 4.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.patterns.record_mean import RecordMean
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def noted(  # type: ignore[no-untyped-def]
    values, record, step, new_record, new_step, sizes, begin, end
):
    """The only unit is the record."""
    total = np.float32(0)
    for i in range(sizes[0]):
        total += values[i]
    for k in range(sizes[1]):
        new_record[k] = record[k]
    new_record[np.int64(step[0])] = total / np.float32(sizes[0])
    new_step[0] = step[0] + 1


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "record_mean"
    name = "loops"
    parallel = False
    summary = "one value after the other, on one thread"

    def kernel(self, problem: RecordMean) -> ArrayKernel:
        return ArrayKernel(noted, 1, (problem.size, problem.steps))


STRATEGY = Loops()
