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
from rooftile.strategies.common.panels import Lie, pack
from rooftile.strategies.common.transposition import emit_columns
from rooftile.strategies.cpu_kernel import CpuKernel, LentKernel
from rooftile.strategies.linear.cpu.blocked import in_one_chunk, inputs_of_block, linear_kernel
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
        return _kernel(problem).units(problem.rows)

    def native(self, problem: Matmul) -> tuple[Native, tuple[str, ...], bool]:
        """See `HostStrategy.native`."""
        return _kernel(problem).function, ("float32",) * 4, True

    def round_trips(self, problem: Matmul) -> dict[str, int]:
        """See `HostStrategy.round_trips`."""
        a, b = problem.arrays[:2]
        turned = {"a turned": a.nbytes} if problem.transpose_a else {}
        return turned if _lie(problem) else {"b in panels": b.nbytes, **turned}

    def prepare(self, problem: Matmul, parameters: tuple[AnyArray, ...], threads: int) -> _Bound:
        """See `HostStrategy.prepare`."""
        return _Bound(problem, threads)


STRATEGY = Blocked()


def _lie(problem: Matmul) -> Lie | None:
    """How b lies, where the kernel reads it so: the rows are one chunk."""
    if not in_one_chunk(as_linear(problem), vector.registers()):
        return None
    return "rows" if problem.transpose_b else "columns"


def _kernel(problem: Matmul) -> CpuKernel:
    lie = _lie(problem)
    return linear_kernel(as_linear(problem), vector.lanes(), vector.registers(), lie)


class _Bound:
    """The kernel with memory for what is packed; calls take turns."""

    def __init__(self, problem: Matmul, threads: int) -> None:
        self._problem, self._threads, self._lanes = problem, threads, vector.lanes()
        kernel, self._step = _kernel(problem), inputs_of_block(as_linear(problem))
        assert kernel.packed is not None
        self._packs = _lie(problem) is None
        self._packed = cpu.allocate(kernel.packed if self._packs else 0, "packed b")
        self._rows = cpu.allocate(problem.rows * problem.inner if problem.transpose_a else 0, "a")
        self._bias = no_bias(problem.columns)
        self._run = LentKernel(kernel, problem.inner, threads)
        self.nbytes = self._packed.nbytes + self._rows.nbytes
        """Of memory for packed matrices."""
        self._turn = lock()

    def __call__(self, a: Float32, b: Float32, out: Float32) -> None:
        problem = self._problem
        with self._turn:
            if self._packs:
                weights = b if problem.transpose_b else b.T
                pack(weights, self._packed, self._step, self._lanes, self._threads)
                b = self._packed
            if problem.transpose_a:
                sizes = cpu.sizes_of(problem.rows, problem.inner)
                units = -(-problem.rows // self._lanes)
                _turning(self._lanes)((a, self._rows), sizes, units, self._threads)
                a = self._rows
            self._run.renew((b, self._bias))
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
                columns = emit_columns(to, lanes, lambda e: f"a, (k + {e}) * rows + first")
                for i, column in enumerate(columns):
                    to.line(f"store(into, (first + {i}) * inner + k, {column})")
            with to.block("for k in range(squares, inner):"), to.block("for i in range(count):"):
                to.line("into[(first + i) * inner + k] = a[k * rows + first + i]")
    return cpu.Spread(source("matmul_turn_rows", to.text(), lanes=lanes), ("float32",) * 2)
