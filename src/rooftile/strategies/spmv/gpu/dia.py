"""`dia`: some rows a thread, diagonals without indices. Source: Bell and Garland, "Implementing
Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.spmv.gpu._accesses import along_diagonals, only
from rooftile.strategies.spmv.gpu._base import GpuSpmv, matrix_of, update_of

_AT_ONCE = (1, 2, 3, 4, 5, 6, 7, 8, 9)


class Dia(GpuSpmv):
    """Results are the same in every run."""

    name = "dia"
    summary = "some rows a thread, diagonals without indices"
    takes = features("dtype:* form:dia index:int64 updated")
    form = "dia"
    tunables = (
        Tunable("BLOCK", (128, 256), 128),
        Tunable("ROWS", (1, 2, 4), 2),
        Tunable("AT_ONCE", _AT_ONCE, 5),
    )

    def defaults(self, problem: Spmv) -> dict[str, int]:
        """As many diagonals at once as leave the fewest places empty in the last round."""
        rounds = [blocks(problem.width, most) for most in _AT_ONCE]
        stored = [count * most for count, most in zip(rounds, _AT_ONCE, strict=True)]
        least = min(zip(stored, rounds, _AT_ONCE, strict=True))
        return {**super().defaults(problem), "AT_ONCE": least[2]}

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        threads = config["BLOCK"]
        tiles = blocks(problem.rows, threads * config["ROWS"])
        launch = Launch(self.kernel(), (tiles, 1, 1), (threads, 1, 1))
        arrays = (*matrix_of(problem), *update_of(problem))
        sizes = np.int64(problem.rows), np.int64(problem.columns)
        return (Step(launch, (*arrays, *sizes, problem.width)),)

    def accesses(self, problem: Spmv, config: Config) -> Mapping[str, Accesses]:
        most = config["AT_ONCE"]
        steps, threads = most * blocks(problem.width, most), blocks(problem.rows, config["ROWS"])
        return only(self.kernel(), problem, along_diagonals(problem, steps, threads))


STRATEGY = Dia()
