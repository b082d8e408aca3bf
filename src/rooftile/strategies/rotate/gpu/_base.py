"""The base of the GPU strategies of `rotate`."""

from __future__ import annotations

import math
from functools import partial

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import Accesses, row_loads
from rooftile.ops.features import features
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies.contract.gpu import Config, GpuStrategy


class GpuRotate(GpuStrategy):
    """A GPU strategy of `rotate`."""

    operation = "rotate"
    takes = features("dtype:*")
    wide_indices = True

    def macros(self, problem: Rotate, config: Config) -> dict[str, int | str]:
        return {"BYTES": problem.itemsize, **config}

    def rows(self, problem: Rotate) -> tuple[Accesses, Accesses]:
        """Rows that are read where they begin, and rows that are read where a shift begins."""
        size, apart = problem.itemsize, SECTOR_BYTES // problem.itemsize
        whole = math.gcd(problem.columns, apart)
        shifted = math.gcd(whole, problem.places)
        run = partial(row_loads, problem.columns, problem.rows, elem_bytes=size)
        return run(alignment=whole), run(alignment=shifted)
