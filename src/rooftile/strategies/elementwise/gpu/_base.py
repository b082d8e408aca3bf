"""The base of the GPU strategies of `elementwise`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.analysis.accesses import Accesses, linear_stores, vector_loads
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.elementwise import FUNCTIONS, Elementwise
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step

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
