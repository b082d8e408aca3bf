"""`loops`: four elements after the other, on one thread.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.layers.dropout import Dropout
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.grid import blocks


@native
def high_of(word, factor):  # type: ignore[no-untyped-def]
    """The upper 32 bits of a product of two words, by halves: 64 bits with a sign do not hold
    it."""
    low = (word & 0xFFFF) * factor
    return ((word >> 16) * factor + (low >> 16)) >> 16


@native
def each_quad(x, rates, step, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are four elements, whose words one counter gives."""
    count = sizes[0]
    number = np.int64(step[0])
    epoch = np.int64(rates[4 * number + 3])
    # The bits of the factor by which an element grows are given as an integer.
    grown = np.float32(sizes[4]) / np.float32(sizes[5])
    for unit in range(begin, end):
        zero, one, two, three = np.int64(4 * unit), number, epoch, sizes[2]
        key, other = sizes[1] & 0xFFFFFFFF, (sizes[1] >> 32) & 0xFFFFFFFF
        for _ in range(10):
            even, odd = zero * 0xD2511F53, two * 0xCD9E8D57
            above, over = high_of(zero, 0xD2511F53), high_of(two, 0xCD9E8D57)
            zero, one = over ^ one ^ key, odd & 0xFFFFFFFF
            two, three = above ^ three ^ other, even & 0xFFFFFFFF
            key, other = (key + 0x9E3779B9) & 0xFFFFFFFF, (other + 0xBB67AE85) & 0xFFFFFFFF
        for k in range(4):
            i = 4 * unit + k
            if i < count:
                word = zero
                if k == 1:
                    word = one
                if k == 2:
                    word = two
                if k == 3:
                    word = three
                if word < sizes[3]:
                    y[i] = 0.0
                else:
                    y[i] = x[i] * grown


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "dropout"
    name = "loops"
    parallel = False
    summary = "four elements after the other, on one thread"

    def kernel(self, problem: Dropout) -> ArrayKernel:
        # A float32 is the quotient of two integers that float32 has without rounding.
        up, down = float(problem.enlarged).as_integer_ratio()
        seed = problem.seed - 2**64 if problem.seed >= 2**63 else problem.seed
        sizes = problem.size, seed, problem.layer, problem.dropped, up, down
        return ArrayKernel(each_quad, blocks(problem.size, 4), sizes)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
