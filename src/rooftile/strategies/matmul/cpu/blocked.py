"""`blocked`: b packed into panels, blocks of terms in cache, a register block of rows.

The kernel is `linear`'s: a block of rows x two vectors of columns is summed in registers over a
block of terms that stays in cache. Each call packs b into panels that are read in a row, on all
cores, and the rows of a transposed a adjacently.

Source: Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
ACM TOMS 34 (2008).
"""

from __future__ import annotations

from typing import Any

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import AnyArray, Float32
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.panels import Lie, packing_of, panels_of
from rooftile.strategies.common.transposition import emit_columns
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.cpu_kernel import (
    NOTHING,
    OUT,
    UNITS,
    WEIGHTS,
    CpuKernel,
    KernelPacking,
    LentKernel,
    X,
)
from rooftile.strategies.gemm.cpu.kernels import (
    in_one_chunk,
    inputs_of_block,
    linear_kernel,
)
from rooftile.strategies.matmul.cpu.vectors import as_linear, no_bias


class Blocked(HostStrategy):
    """Takes every problem."""

    operation = "matmul"
    name = "blocked"
    summary = "b packed into panels, blocks of terms in cache, rows blocked in registers"
    takes = features("transpose_a transpose_b")

    def units(self, problem: Matmul) -> int:
        return _kernel(problem).units(problem.rows)

    def work(self, problem: Matmul) -> Work:
        """See `Strategy.work`: what is packed is written and read once more, and whole vectors of
        columns are summed."""
        columns = -(-problem.columns // vector.lanes()) * vector.lanes()
        moved = problem.bytes + 2 * sum(self.round_trips(problem).values())
        return Work(problem.flops * columns / problem.columns, moved, self.units(problem))

    def native(self, problem: Matmul) -> tuple[Native, tuple[str, ...], bool]:
        return _kernel(problem).function, ("float32",) * 4, True

    def round_trips(self, problem: Matmul) -> dict[str, int]:
        a, b = problem.arrays[:2]
        turned = {"a turned": a.nbytes} if problem.transpose_a else {}
        return turned if _lie(problem) else {"b in panels": b.nbytes, **turned}

    def prepare(self, problem: Matmul, parameters: tuple[AnyArray, ...], threads: int) -> _Bound:
        return _Bound(problem, threads)


STRATEGY = Blocked()

_SMALL = 2**20
"""Elements of b, 4 MB: it comes from the third-level cache then, fast enough."""


def _lie(problem: Matmul) -> Lie | None:
    """The order of b, where the kernel reads it unpacked: the rows are one chunk, and b is
    large."""
    if _is_small(problem) or not in_one_chunk(as_linear(problem), vector.registers()):
        return None
    return "rows" if problem.transpose_b else "columns"


def _is_small(problem: Matmul) -> bool:
    """True if b in panels stays in cache, so that each chunk of rows may read all of it."""
    return problem.inner * problem.columns <= _SMALL


def _kernel(problem: Matmul) -> CpuKernel:
    lie, small = _lie(problem), _is_small(problem)
    return linear_kernel(as_linear(problem), vector.lanes(), vector.registers(), lie, small=small)


def _packings(problem: Matmul) -> dict[str, KernelPacking]:
    """The kernels that pack a matrix before it is multiplied, by the matrix."""
    rows, inner, columns, lanes = problem.rows, problem.inner, problem.columns, vector.lanes()
    found = {}
    if problem.transpose_a:
        sizes = cpu.sizes_of(rows, inner)
        found["a"] = KernelPacking(_turning(lanes), panels_of(rows, lanes), sizes)
    if _lie(problem) is None:
        lie: Lie = "rows" if problem.transpose_b else "columns"
        step = inputs_of_block(as_linear(problem))
        found["b"] = packing_of(columns, inner, step, lanes, lie)
    return found


class _Bound:
    """The kernel, and before it those that lay matrices anew: one run for all; calls take turns."""

    def __init__(self, problem: Matmul, threads: int) -> None:
        kernel, packings = _kernel(problem), _packings(problem)
        given = {array.name: array.size for array in problem.arrays}
        sizes = {"a": given["a"], "b": kernel.packed or 0}
        laid = {name: cpu.allocate(sizes[name], f"{name} laid anew") for name in packings}
        layer, bias = LentKernel(kernel, problem.inner, threads), no_bias(problem.columns)
        layer.renew((laid.get("b", NOTHING), bias))
        rows = [packing.row(given[name], laid[name]) for name, packing in packings.items()]
        entries = [packing.entry for packing in packings.values()]
        self._work = cpu.KernelSequence(
            (*entries, cpu.Entry.of_layer(kernel.function)),
            (*rows, layer.sized(given["a"], given["out"])),
        )
        last = len(rows)
        self._places = {"a": (last, X), "b": (last, WEIGHTS), "out": (last, OUT)}
        """In which row, and where there, the addresses of a call's arrays belong."""
        for row, name in enumerate(packings):
            _, at = self._places[name]
            self._work.rows[last][at] = cpu.address(laid[name])
            self._places[name] = row, X
        self._threads, self._turn = threads, lock()
        self._kept = layer, bias, packings, laid

    def __call__(self, a: Float32, b: Float32, out: Float32) -> None:
        rows = self._work.rows
        with self._turn:
            for (row, at), array in zip(self._places.values(), (a, b, out), strict=True):
                rows[row][at] = cpu.address(array)
            self._work.run(rows[-1][UNITS], self._threads)

    def quick(self, shapes: cpu.Shapes, long: bool = False) -> cpu.Quick | None:
        places = [row * len(cpu.FIELDS) + at for row, at in self._places.values()]
        return self._work.quick(self._threads, shapes, places, self._kept, long)


@last_kernels
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
