"""Rung 5, `blocked`: b packed into panels, blocks of terms in cache, a register block of rows.

The kernel is that of `linear`: a block of rows x two vectors of columns is summed in registers over
a block of terms that stays in cache.  Each call packs b into panels that are read in a row, on
all cores, and the rows of a transposed a beside each other.

Source: Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
ACM TOMS 34 (2008).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, source, vector
from rooftile.ops import AnyArray, Float32
from rooftile.ops.matmul import Matmul
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.panels import pack
from rooftile.strategies.common.transposition import emit_transposition
from rooftile.strategies.cpu_kernel import BoundKernel
from rooftile.strategies.linear.cpu.blocked import inputs_of_block, linear_kernel
from rooftile.strategies.matmul.cpu.vectors import as_linear, no_bias


class Blocked(HostStrategy):
    """Takes every problem."""

    operation = "matmul"
    name = "blocked"
    order = 5
    summary = "b packed into panels, blocks of terms in cache, rows blocked in registers"

    def why_not(self, problem: Matmul) -> str | None:
        """None: it takes everything."""
        return None

    def units(self, problem: Matmul) -> int:
        """Panels of columns for chunks of rows."""
        kernel = linear_kernel(as_linear(problem), vector.lanes(), vector.registers())
        return kernel.units(problem.rows)

    def native(self, problem: Matmul) -> tuple[Native, tuple[str, ...], bool]:
        """See `HostStrategy.native`."""
        kernel = linear_kernel(as_linear(problem), vector.lanes(), vector.registers())
        return kernel.function, ("float32",) * 4, True

    def round_trips(self, problem: Matmul) -> dict[str, int]:
        """See `HostStrategy.round_trips`."""
        a, b = problem.arrays[:2]
        turned = {"a turned": a.nbytes} if problem.transpose_a else {}
        return {"b in panels": b.nbytes, **turned}

    def prepare(self, problem: Matmul, parameters: tuple[AnyArray, ...], threads: int) -> _Bound:
        """See `HostStrategy.prepare`."""
        return _Bound(problem, threads)


STRATEGY = Blocked()


class _Bound:
    """The kernel with memory for what is packed; calls take turns."""

    def __init__(self, problem: Matmul, threads: int) -> None:
        self._problem, self._threads, self._lanes = problem, threads, vector.lanes()
        layer = as_linear(problem)
        kernel, self._step = (
            linear_kernel(layer, self._lanes, vector.registers()),
            inputs_of_block(layer),
        )
        assert kernel.packed is not None
        self._packed = cpu.allocate(kernel.packed, "packed b")
        self._rows = cpu.allocate(problem.rows * problem.inner if problem.transpose_a else 0, "a")
        self._run = BoundKernel(
            kernel, self._packed, no_bias(problem.columns), problem.inner, threads
        )
        self.nbytes = self._packed.nbytes + self._rows.nbytes
        """Of memory for packed matrices."""
        self._turn = lock()

    def __call__(self, a: Float32, b: Float32, out: Float32) -> None:
        problem = self._problem
        with self._turn:
            weights = b if problem.transpose_b else b.T
            pack(weights, self._packed, self._step, self._lanes, self._threads)
            if problem.transpose_a:
                sizes = cpu.sizes_of(problem.rows, problem.inner)
                units = -(-problem.rows // self._lanes)
                _turning(self._lanes)((a, self._rows), sizes, units, self._threads)
                a = self._rows
            self._run(a, out)


@cache
def _turning(lanes: int) -> Any:
    """Rows from a[inner, rows]: a unit is a vector of rows, whose squares turn in registers."""
    to = Writer()
    with to.block("def kernel(a, into, sizes, begin, end):"):
        to.line("rows, inner = sizes[0], sizes[1]", f"whole = inner // {lanes} * {lanes}")
        with to.block("for unit in range(begin, end):"):
            to.line(
                f"first = unit * {lanes}",
                f"count = min({lanes}, rows - first)",
                f"squares = whole if count == {lanes} else 0",
            )
            with to.block(f"for k in range(0, squares, {lanes}):"):
                names = [f"r{e}" for e in range(lanes)]
                loads = (f"load(a, (k + {e}) * rows + first)" for e in range(lanes))
                to.line(*(f"{r} = {load}" for r, load in zip(names, loads, strict=True)))
                for i, row in enumerate(emit_transposition(to, lanes, names)):
                    to.line(f"store(into, (first + {i}) * inner + k, {row})")
            with to.block("for k in range(squares, inner):"), to.block("for i in range(count):"):
                to.line("into[(first + i) * inner + k] = a[k * rows + first + i]")
    return cpu.Spread(source("matmul_turn_rows", to.text(), lanes=lanes), ("float32",) * 2)
