"""The base of the GPU strategies of `permute_columns`."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Accesses, row_stores, scattered_loads
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step


class GpuPermuteColumns(GpuStrategy):
    """A GPU strategy of `permute_columns`: one kernel of its name.

    Which sectors it touches depends on the index: the model's sends neighbours far apart.
    """

    operation = "permute_columns"
    takes = features("dtype:*")
    wide_indices = True

    def macros(self, problem: PermuteColumns, config: Config) -> dict[str, int | str]:
        return {"BYTES": problem.itemsize, **config}

    def one(self, problem: PermuteColumns, launch: Launch) -> tuple[Step, ...]:
        """The launch of the kernel."""
        sizes = np.int64(problem.rows), problem.columns, problem.width
        return (Step(launch, ("x", "index", "y", *sizes)),)

    def picked(self, problem: PermuteColumns) -> Accesses:
        """Elements of x that lie apart."""
        return scattered_loads(problem.rows * problem.width)

    def stored(self, problem: PermuteColumns, lanes: int) -> Accesses:
        """The result, in its order."""
        size = problem.itemsize
        return row_stores(problem.width, problem.rows, lanes=lanes, elem_bytes=size)

    def limits(self, problem: PermuteColumns) -> str | None:
        most = max(problem.columns, problem.width)
        return f"{most} columns: their indices are 32-bit" if most > 2**30 else None
