"""`blas`: one matrix product by BLAS, then bias and activation in place.

The threads share the batch; one item alone is one thread's work.

Source: Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
ACM TOMS 34 (2008), for what BLAS does.
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile._blas import multiply, share_out
from rooftile._locks import lock
from rooftile.devices.cpu.native import native
from rooftile.ops import Float32, Linear
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate_row
from rooftile.strategies.common.serial import run
from rooftile.strategies.contract.cpu import HostStrategy
from rooftile.strategies.contract.cpu_kernel import aligned_copy

_THREAD_FLOPS = 2_000_000
"""Least FLOPs that are worth a thread of their own: some tens of microseconds."""


@native
def finish(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are batch items: add the bias to ``out`` and activate it, in place."""
    outputs = sizes[0]
    for unit in range(begin, end):
        for o in range(outputs):
            out[unit * outputs + o] += bias[o]
        activate_row(out, unit * outputs, outputs, sizes[1])


class Blas(HostStrategy):
    """Takes every problem."""

    operation = "linear"
    name = "blas"
    summary = "one matrix product by BLAS, then bias and activation"
    takes = features("activation:*")

    def prepare(
        self, problem: Linear, parameters: tuple[Float32, ...], threads: int
    ) -> Callable[..., None]:
        weights, bias = parameters
        return _Bound(problem, weights, bias, threads)


STRATEGY = Blas()


class _Bound:
    """The weights; calls take turns."""

    def __init__(self, problem: Linear, weights: Float32, bias: Float32, threads: int) -> None:
        self._problem, self._bias = problem, aligned_copy(bias)
        # Weights keep the order in which they lie: BLAS takes either, and to exchange them is slow.
        by_columns = weights.flags.f_contiguous
        lies = weights.T if by_columns else weights
        held = aligned_copy(lies).reshape(lies.shape)
        self._weights = held if by_columns else held.T
        self._sizes = (problem.outputs, ACTIVATION_CODES[problem.activation])
        self._threads = threads
        self._turn = lock()

    def __call__(self, x: Float32, out: Float32) -> None:
        rows, results = x.reshape(-1, self._problem.inputs), out.reshape(-1, self._problem.outputs)
        batch = len(rows)
        flops = 2 * rows.size * self._problem.outputs
        count = max(1, min(self._threads, batch, flops // _THREAD_FLOPS))

        def work(worker: int) -> None:
            mine = slice(batch * worker // count, batch * (worker + 1) // count)
            multiply(rows[mine], self._weights, results[mine])
            part = results[mine]
            run(finish, part, part, self._sizes, len(part), bias=self._bias)

        with self._turn:
            share_out(work, count)
