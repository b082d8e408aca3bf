"""Rungs that read CSR, by threads, teams of threads, and equal shares.

Source: PMPP, chapter 14; Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on
Throughput-Oriented Processors", SC 2009 (CSR vector); Merrill and Garland, "Merge-Based Parallel
Sparse Matrix-Vector Multiplication", SC 2016.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.spmv.gpu._accesses import only, row_apart
from rooftile.strategies.spmv.gpu._base import GpuSpmv, MergedSpmv, RowSpmv, matrix_of, update_of


class CsrThreads(RowSpmv):
    """Results are the same in every run."""

    name = "csr_threads"
    summary = "a thread a row"
    form = "csr"

    def accesses(self, problem: Spmv, config: Config) -> Mapping[str, Accesses]:
        return only(self.kernel(), problem, row_apart(problem))


_THREADS = 256


class CsrTeams(GpuSpmv):
    """Results are the same in every run."""

    name = "csr_teams"
    summary = "several threads a row, joined by a tree"
    form = "csr"
    tunables = (Tunable("TEAM", (2, 4, 8, 16, 32), 8),)

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


class CsrMerge(MergedSpmv):
    """Takes CSR."""

    name = "csr_merge"
    summary = "every thread takes as many entries and ends of rows"
    form = "csr"

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        return self.merged_steps(problem, config, "values", "column_index", "row_offsets")


STRATEGIES = (CsrThreads(), CsrTeams(), CsrMerge())
