"""`csr_teams`: several threads a row.

Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC 2009 (CSR vector).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.spmv.gpu._base import GpuSpmv, matrix_of, update_of

_THREADS = 256


class CsrTeams(GpuSpmv):
    """Results are the same in every run."""

    name = "csr_teams"
    summary = "several threads a row, joined by a tree"
    form = "csr"
    tunables = (Tunable("TEAM", (2, 4, 8, 16, 32), 8),)

    def why_slow(self, problem: Spmv) -> str | None:
        """Rows of different lengths."""
        if problem.even:
            return None
        return "rows are of different lengths, or nobody knows: the longest keeps a team at work"

    def defaults(self, problem: Spmv) -> dict[str, int]:
        """As many as half of an average row's entries."""
        return {"TEAM": tile_of(blocks(problem.entries, 2 * problem.rows), 2, 32)}

    def macros(self, problem: Spmv, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "ROWS": _THREADS // config["TEAM"]}

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        team, rows = config["TEAM"], _THREADS // config["TEAM"]
        launch = Launch(self.kernel(), (blocks(problem.rows, rows), 1, 1), (team, rows, 1))
        arrays = (*matrix_of(problem), *update_of(problem))
        return (Step(launch, (*arrays, np.int64(problem.rows))),)


STRATEGY = CsrTeams()
