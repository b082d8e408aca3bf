"""A thread for one element, for several, and for vectors of them.

Source: PMPP, section 2.5; Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops"
(NVIDIA, 2013); section 6.3; sections 6.1 and 6.3 (coalescing, thread coarsening).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import Accesses, linear_stores, row_loads, row_stores, vector_loads
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.elementwise import FUNCTIONS, Elementwise
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_NUMBERS = {"float32": "float", "float64": "double"}
_BITS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "uint64"}
"""Unsigned integers of a number of bytes."""
_CORES = {"float16": "FLOAT16", "bfloat16": "BFLOAT16"}
_MOST_BLOCKS = 2**31 - 1
_ROW = 16
"""Elements of a row of a picture."""


class GpuElementwise(GpuStrategy):
    """A GPU strategy of `elementwise`: one kernel of the module's name."""

    operation = "elementwise"
    takes = features("dtype:*")
    wide_indices = True

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """Elements of a block."""
        raise NotImplementedError

    def in_order(self, problem: Elementwise) -> tuple[Accesses, Accesses]:
        """The accesses of `of_element` where neighbouring threads have neighbouring elements."""
        size = problem.arrays[0].numpy.itemsize
        return vector_loads(problem.count, 1, size), linear_stores(problem.count, size)

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """The accesses to all elements of an input, and of the result."""
        raise NotImplementedError

    def limits(self, problem: Elementwise) -> str | None:
        wanted = self.blocks(problem, self.defaults(problem))
        return f"{wanted} blocks, at most {_MOST_BLOCKS}" if wanted > _MOST_BLOCKS else None

    def macros(self, problem: Elementwise, config: Config) -> dict[str, int | str]:
        functions = {name.upper(): int(name == problem.function) for name in FUNCTIONS}
        narrow = _CORES.get(problem.dtype)
        return {
            **functions,
            "NUMBER": _NUMBERS.get(problem.dtype, _BITS[problem.arrays[0].numpy.itemsize]),
            "LOGICAL": int(problem.dtype == "bool"),
            "DOUBLES": int(problem.dtype == "float64"),
            "NARROW_NUMBERS": int(narrow is not None),
            **({"CORES": narrow} if narrow else {}),
            **config,
        }

    def of_thread(self, problem: Elementwise, config: Config, element: int) -> tuple[int, int]:
        """The thread of the first block that has an element, and the round in which it has it."""
        block: int = config["BLOCK"]
        return element % block, element // block

    def picture(self, problem: Elementwise, config: Config) -> Panels:
        """The elements of the first block, and of its threads' first round."""

        def cell(i: int, j: int) -> Cell | None:
            if i * _ROW + j >= count:
                return None
            thread, turn = self.of_thread(problem, config, i * _ROW + j)
            return Cell("core" if turn else "warp", str(thread))

        count = min(problem.count, self.of_block(problem, config))
        words = f"{self.name}: elements, by the thread that takes them"
        return (panel(words, (blocks(count, _ROW), _ROW), cell),)

    def blocks(self, problem: Elementwise, config: Config) -> int:
        """Blocks of the grid."""
        return blocks(problem.count, self.of_block(problem, config))

    def steps(self, problem: Elementwise, config: Config) -> tuple[Step, ...]:
        grid = (self.blocks(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        has = FUNCTIONS[problem.function]
        given = (name if name in has else "x" for name in ("x", "y", "alpha"))
        return (Step(launch, (*given, "out", np.int64(problem.count))),)

    def accesses(self, problem: Elementwise, config: Config) -> Mapping[str, Accesses]:
        """See `GpuStrategy.accesses`; alpha, which a warp reads at once, is left out."""
        read, written = self.of_element(problem, config)
        arrays = 1 if problem.function == "scale" else 2
        return {self.kernel(): sum([read] * arrays, written)}


class Naive(GpuElementwise):
    """Takes every problem."""

    name = "naive"
    summary = "a thread an element"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),)

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """An element a thread."""
        return config["BLOCK"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads."""
        return self.in_order(problem)


class GridStride(GpuElementwise):
    """Takes every problem."""

    name = "grid_stride"
    summary = "as many threads as the device holds, each a grid apart from its next element"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """A share of all elements, as many as the device holds blocks."""
        held = config["BLOCKS"] * self.machine.multiprocessors
        return max(config["BLOCK"], blocks(problem.count, held))

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads, in every round."""
        return self.in_order(problem)

    def picture(self, problem: Elementwise, config: Config) -> Panels:
        """A thread's elements lie a grid apart, which is too large to be drawn."""
        return ()


class BlockStrided(GpuElementwise):
    """Takes every problem."""

    name = "block_strided"
    summary = "several sections a block: a thread's elements lie a block apart"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("ELEMENTS", (2, 4, 8, 9, 10, 16), 4),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """ELEMENTS sections."""
        return config["BLOCK"] * config["ELEMENTS"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads, in every round."""
        return self.in_order(problem)


class Adjacent(GpuElementwise):
    """Takes every problem."""

    name = "adjacent"
    summary = "several neighbours a thread: the accesses of a warp lie apart"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("ELEMENTS", (2, 4, 8, 16), 4),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """ELEMENTS neighbours a thread."""
        return config["BLOCK"] * config["ELEMENTS"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """In each of a thread's rounds, the elements of a warp lie ELEMENTS apart."""
        rounds, size = config["ELEMENTS"], problem.arrays[0].numpy.itemsize
        threads = blocks(problem.count, rounds)
        aligned = SECTOR_BYTES // size
        read = row_loads(threads, rounds, stride=rounds, alignment=aligned, elem_bytes=size)
        return read, row_stores(threads, rounds, stride=rounds, elem_bytes=size)

    def of_thread(self, problem: Elementwise, config: Config, element: int) -> tuple[int, int]:
        """Neighbours."""
        return divmod(element, config["ELEMENTS"])


_VECTOR_BYTES = 16
_VECTORS = {"float32": "float4", "float64": "double2", "int64": "uint64_pair"}
_VECTORS["uint64"] = _VECTORS["int64"]
_TOPS = {1: "0x80808080u", 2: "0x80008000u"}
"""The first bits of a register's integers, by their bytes."""


class Vectors(GpuElementwise):
    """Takes every problem.

    Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA,
    2013).
    """

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


STRATEGIES = (Naive(), GridStride(), BlockStrided(), Adjacent(), Vectors())
