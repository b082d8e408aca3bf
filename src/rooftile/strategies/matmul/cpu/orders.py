"""`orders`: the loops in the order rows, terms, columns, on one thread.

The same products as in `loops`.  But the innermost loop now walks along a row of b and a row of the
result, which lie as they are read: the compiler makes vectors of it, and no element of b is
fetched with fifteen neighbours that nobody wants.

Source: Drepper, "What Every Programmer Should Know About Memory" (2007), section 6.2.1.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.matmul.cpu.loops import pitches


@native
def scaled_rows(a, b, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows of the result.  ``sizes``: inner, columns, a's pitches."""
    inner, columns = sizes[0], sizes[1]
    for i in range(begin, end):
        for j in range(columns):
            out[i * columns + j] = np.float32(0.0)
        for k in range(inner):
            factor = a[i * sizes[2] + k * sizes[3]]
            for j in range(columns):
                out[i * columns + j] += factor * b[k * columns + j]


class Orders(ArrayStrategy):
    """Takes b as b[inner, columns]."""

    operation = "matmul"
    name = "orders"
    parallel = False
    summary = "rows, terms, columns: the same loops in the order of memory"
    takes = features("transpose_a")

    def limits(self, problem: Matmul) -> str | None:
        return "b is transposed: its rows hold terms" if problem.transpose_b else None

    def work(self, problem: Matmul) -> Work:
        """See `Strategy.work`: each walk along a row of b is a part."""
        return Work(problem.flops, problem.bytes, problem.rows * problem.inner)

    def kernel(self, problem: Matmul) -> ArrayKernel:
        sizes = (problem.inner, problem.columns, *pitches(problem)[:2])
        return ArrayKernel(scaled_rows, problem.rows, sizes)


STRATEGY = Orders()
