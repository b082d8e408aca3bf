"""`vectors`: explicit vectors of columns, both matrices read as they lie.

A register block of rows x vectors of columns is summed over a block of terms: a loaded vector of b
serves every row of the block, a broadcast element of a every vector.  Nothing is packed, so that
b passes once for a few rows; with many rows it passes again for each block of them, and out of
cache.  Of a transposed b, squares are transposed in registers on their way to the sums, by the
kernel of `linear` for few images.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from rooftile._locks import lock
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import AnyArray, Float32, Linear
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import HostStrategy
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.cpu import ArrayKernel, BoundArrays
from rooftile.strategies.contract.cpu_kernel import LentKernel
from rooftile.strategies.gemm.cpu.kernels import rows_kernel
from rooftile.strategies.matmul.cpu._vectors_source import CHUNK, PANEL, generate
from rooftile.strategies.matmul.cpu.loops import pitches

_WIDE = 4
"""Vectors of columns."""
_ROWS = 8
"""About so many rows share a vector of b that is loaded."""
_BLOCK_TERMS = 448
"""Largest number of terms that are summed in one go; longer sums round worse."""


class Vectors(HostStrategy):
    """Takes problems with at most one transposed matrix."""

    operation = "matmul"
    name = "vectors"
    summary = "explicit vectors of columns, rows blocked in registers, nothing packed"
    takes = features("transpose_a transpose_b")

    def limits(self, problem: Matmul) -> str | None:
        both = problem.transpose_a and problem.transpose_b
        return "both matrices lie transposed" if both else None

    def work(self, problem: Matmul) -> Work:
        """See `Strategy.work`: each block of rows reads all of b, and sums whole vectors; of fewer
        than `_WIDE` its sums are too few."""
        columns = max(_WIDE, -(-problem.columns // vector.lanes())) * vector.lanes()
        again = (-(-problem.rows // _ROWS) - 1) * problem.arrays[1].nbytes
        flops = problem.flops * columns / problem.columns
        return Work(flops, problem.bytes + again, self.units(problem))

    def units(self, problem: Matmul) -> int:
        if problem.transpose_b:
            return -(-problem.columns // vector.lanes())
        return -(-problem.columns // (PANEL * vector.lanes())) * -(-problem.rows // CHUNK)

    def native(self, problem: Matmul) -> tuple[Native, tuple[str, ...], bool]:
        if problem.transpose_b:
            kernel = rows_kernel(as_linear(problem), vector.lanes())
            return kernel.function, ("float32",) * 4, True
        return _compiled(vector.lanes(), vector.registers()), ("float32",) * 3, False

    def prepare(
        self, problem: Matmul, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        if problem.transpose_b:
            return _of_transposed(problem, threads)
        step = -(-problem.inner // -(-problem.inner // _BLOCK_TERMS))
        shape = (problem.rows, problem.inner, problem.columns)
        sizes = (*shape, step, *pitches(problem)[:2])
        compiled = _compiled(vector.lanes(), vector.registers())
        kernel = ArrayKernel(compiled, self.units(problem), sizes)
        return BoundArrays(problem, kernel, parameters, threads)


STRATEGY = Vectors()


def _of_transposed(problem: Matmul, threads: int) -> Callable[..., None]:
    kernel = LentKernel(rows_kernel(as_linear(problem), vector.lanes()), problem.inner, threads)
    zeros, turn = no_bias(problem.columns), lock()

    def call(a: Float32, b: Float32, out: Float32) -> None:
        with turn:
            kernel.renew((b, zeros))
            kernel(a, out)

    return call


def as_linear(problem: Matmul) -> Linear:
    """The layer that multiplies as the problem does, with a for images and b for weights."""
    return Linear(problem.rows, problem.inner, problem.columns)


@lru_cache(maxsize=64)
def no_bias(columns: int) -> Float32:
    """A placeholder of a layer's bias."""
    return np.zeros(columns, np.float32)


@last_kernels
def _compiled(lanes: int, registers: int) -> Native:
    return source("matmul_vectors", generate(lanes, registers), lanes=lanes)
