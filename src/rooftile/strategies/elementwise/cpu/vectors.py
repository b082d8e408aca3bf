"""`vectors`: whole vectors, on every core, stored past the cache where they outgrow it.

A store to a line that is not in the cache reads that line from memory first. Of a sum of two arrays
that is a quarter of all traffic, and of a multiple a third. A streaming store of whole lines leaves
that out. It needs places on a line's boundary, so that the elements before the first boundary of
``out`` are computed one by one. An array that fits into the cache stays there, for its next reader.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.devices.cpu.native.vector import lanes
from rooftile.ops import AnyArray
from rooftile.ops.patterns.elementwise import FUNCTIONS, Elementwise
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.streaming import lead_of, pays

_CHUNK = 2**14
"""Elements of a unit of work."""
_SCALARS = {"add": "x[i] + y[i]", "axpy": "alpha[0] * x[i] + y[i]", "scale": "alpha[0] * x[i]"}
_VECTORS = {
    "add": "add({x}, {y})",
    "axpy": "add(multiply(splat_at(alpha, 0), {x}), {y})",
    "scale": "multiply(splat_at(alpha, 0), {x})",
}

_TEXT = """
def kernel({given}, out, sizes, begin, end):
    count, lead = sizes[0], sizes[1]
    for unit in range(begin, end):
        first = lead + unit * {chunk}
        last = min(first + {chunk}, count)
        if unit == 0:
            for i in range(0, lead):
                out[i] = {scalar}
        whole = first + (last - first) // {lanes} * {lanes}
        for i in range(first, whole, {lanes}):
            {store}(out, i, {vector})
        if whole < last:
            store_part(out, whole, {part}, last - whole)
"""


@last_kernels
def _kernel(function: str, store: str) -> cpu.Spread:
    width, expression = lanes(), _VECTORS[function]
    names = FUNCTIONS[function]
    text = _TEXT.format(
        given=", ".join(names),
        chunk=_CHUNK,
        lanes=width,
        store=store,
        scalar=_SCALARS[function],
        vector=expression.format(x="load(x, i)", y="load(y, i)"),
        part=expression.format(
            x="load_part(x, whole, last - whole)", y="load_part(y, whole, last - whole)"
        ),
    )
    made = source(f"elementwise_{function}_{store}", text)
    return cpu.Spread(made, ("float32",) * (len(names) + 1))


class Vectors(HostStrategy):
    """Takes float32."""

    operation = "elementwise"
    name = "vectors"
    summary = "vectors on every core, stored past the cache where the arrays outgrow it"

    def limits(self, problem: Elementwise) -> str | None:
        return None if problem.dtype == "float32" else f"{problem.dtype}: its vectors are float32"

    def units(self, problem: Elementwise) -> int:
        return -(-problem.count // _CHUNK)

    def native(self, problem: Elementwise) -> tuple[Native, tuple[str, ...], bool]:
        return self._run(problem).native

    def prepare(
        self, problem: Elementwise, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        streams, run = pays(problem.bytes), self._run(problem)

        def call(*arrays: AnyArray) -> None:
            lead = min(lead_of(arrays[-1]), problem.count) if streams else 0
            units = max(1, -(-(problem.count - lead) // _CHUNK))
            run(arrays, np.array((problem.count, lead), np.int64), units, threads)

        return call

    def _run(self, problem: Elementwise) -> cpu.Spread:
        return _kernel(problem.function, "stream" if pays(problem.bytes) else "store")


STRATEGY = Vectors()
