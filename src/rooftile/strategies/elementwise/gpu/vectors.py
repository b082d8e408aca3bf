"""`vectors`: loads and stores of 16 bytes, several of each array in flight a thread. Source:
Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA, 2013)."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, linear_stores, vector_loads
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.elementwise.gpu._base import GpuElementwise

_VECTOR_BYTES = 16
_VECTORS = {"float32": "float4", "float64": "double2", "int64": "uint64_pair"}
_VECTORS["uint64"] = _VECTORS["int64"]
_TOPS = {1: "0x80808080u", 2: "0x80008000u"}
"""The first bits of a register's integers, by their bytes."""


class Vectors(GpuElementwise):
    """Takes every problem."""

    name = "vectors"
    summary = "vectors of 16 bytes"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("LOADS", (1, 2, 4, 8), 1),
    )

    def macros(self, problem: Elementwise, config: Config) -> dict[str, int | str]:
        macros = super().macros(problem, config)
        size = problem.arrays[0].numpy.itemsize
        tops = "0" if macros["NARROW_NUMBERS"] else _TOPS.get(size, "0")
        vector = _VECTORS.get(problem.dtype, "uint4")
        return {**macros, "VECTOR": vector, "TOPS": tops, "WIDTH": _width(problem)}

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """LOADS vectors a thread."""
        return config["BLOCK"] * config["LOADS"] * _width(problem)

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Aligned vectors, which follow each other."""
        width, size = _width(problem), problem.arrays[0].numpy.itemsize
        loads = vector_loads(blocks(problem.count, width), width, size)
        return loads, linear_stores(problem.count, size)

    def of_thread(self, problem: Elementwise, config: Config, element: int) -> tuple[int, int]:
        """A vector a round."""
        vector = element // _width(problem)
        return vector % config["BLOCK"], vector // config["BLOCK"]


def _width(problem: Elementwise) -> int:
    """Elements of a vector."""
    return _VECTOR_BYTES // problem.arrays[0].numpy.itemsize


STRATEGY = Vectors()
