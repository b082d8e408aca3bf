"""`blas`: BLAS, on matrices in either order.

The threads share the rows of the result; one row alone is one thread's work.

Source: Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
ACM TOMS 34 (2008), for what BLAS does.
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile._blas import multiply, share_out
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import HostStrategy

_THREAD_FLOPS = 2_000_000
"""Least FLOPs that are worth a thread of their own: some tens of microseconds."""


class Blas(HostStrategy):
    """Takes every problem."""

    operation = "matmul"
    name = "blas"
    summary = "the matrix product of BLAS, rows of the result on all cores"
    takes = features("transpose_a transpose_b")

    def prepare(
        self, problem: Matmul, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        rows = problem.rows
        count = max(1, min(threads, rows, problem.flops // _THREAD_FLOPS))

        def call(a: AnyArray, b: AnyArray, out: AnyArray) -> None:
            left = a.T if problem.transpose_a else a
            right = b.T if problem.transpose_b else b

            def work(worker: int) -> None:
                mine = slice(rows * worker // count, rows * (worker + 1) // count)
                multiply(left[mine], right, out[mine])

            share_out(work, count)

        return call


STRATEGY = Blas()
