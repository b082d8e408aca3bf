"""The base of the GPU strategies of `spmm`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.sparse.spmm import Spmm
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks, tile_of
from rooftile.strategies.common.operators import operator_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_THREADS = 256
_TYPES = {"int64": "int64", "int32": "int"}


class GpuSpmm(GpuStrategy):
    """A kernel, called as the strategy, with a team of threads a row."""

    operation = "spmm"
    takes = features("dtype:* index:int64")
    wide_indices = True
    tunables: ClassVar[tuple[Tunable, ...]] = (Tunable("ACROSS", (2, 4, 8, 16, 32), 32),)

    def limits(self, problem: Spmm) -> str | None:
        most = MOST_BLOCKS * 2
        return None if problem.width <= most else f"{problem.width} columns, at most {most}"

    def defaults(self, problem: Spmm) -> dict[str, int]:
        """As many threads across as b has columns, up to a warp."""
        return {**super().defaults(problem), "ACROSS": tile_of(problem.width, 2, 32)}

    def macros(self, problem: Spmm, config: Config) -> dict[str, int | str]:
        return {
            **operator_macros(SUM, problem.dtype),
            "INDEX": _TYPES[problem.index],
            "LINES": _THREADS // config["ACROSS"],
            **config,
        }

    def steps(self, problem: Spmm, config: Config) -> tuple[Step, ...]:
        across, lines = config["ACROSS"], _THREADS // config["ACROSS"]
        wide = across * config.get("COLUMNS", 1)
        grid = (blocks(problem.rows, lines), blocks(problem.width, wide), 1)
        launch = Launch(self.kernel(), grid, (across, lines, 1))
        names = tuple(array.name for array in problem.arrays)
        return (Step(launch, (*names, np.int64(problem.rows), problem.width)),)
