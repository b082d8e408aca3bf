"""Rungs that are `few_rows` of `matmul` for a single row. Source: PMPP, section 6.3 (thread
coarsening), on a vector; Bell, Garland, "Implementing Sparse Matrix-Vector Multiplication on
Throughput-Oriented Processors", SC09 (a warp a row), on a dense matrix."""

from __future__ import annotations

from rooftile.analysis.pictures import Cell, Panels, panel, result_tile
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.matvec.gpu._base import FewRowsMatvec, as_product


class Strips(FewRowsMatvec):
    """See `rooftile.strategies.matmul.gpu.few_rows`."""

    name = "strips"
    summary = "of a transposed matrix, strips of rows and parts of columns"

    def limits(self, problem: Matvec) -> str | None:
        if not problem.transpose:
            return "a is not transposed: that is warp_rows"
        return self.rung.why_not(as_product(problem))


class WarpRows(FewRowsMatvec):
    """See `rooftile.strategies.matmul.gpu.few_rows`."""

    name = "warp_rows"
    summary = "a team of threads a row, joined by a tree"
    takes = frozenset()

    def limits(self, problem: Matvec) -> str | None:
        return self.rung.why_not(as_product(problem))

    def picture(self, problem: Matvec, config: Config) -> Panels:
        """The rows of a block, in the order in which a team's threads walk along them."""
        lanes, teams = config["LANES"], config["SLICES"]
        vector = 4 if problem.columns % 4 == 0 else 1

        def cell(i: int, j: int) -> Cell:
            lane = j // vector % lanes
            return Cell("other") if i >= teams else Cell("core" if lane else "used", str(lane))

        rows = min(problem.rows, teams + 1)
        return (
            panel("a, by the thread of a row's team", (rows, problem.columns), cell),
            panel("x", (1, problem.columns), lambda _, j: cell(0, j)),
            result_tile("y", (problem.rows, 1), (teams, 1), lambda i, _: "0"),
        )


STRATEGIES = (Strips(), WarpRows())
