"""`naive`: a thread a result. Source: PMPP, section 10.1; Kahan, "Further remarks on reducing
truncation errors", CACM 8 (1965)."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.rows import numbers_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.reduce.gpu._base import MOST_ROWS, GpuReduce


class Naive(GpuReduce):
    """Takes every operator: it keeps the order."""

    name = "naive"
    summary = "a thread a result, its elements in their order"
    takes = features("axis dtype:* operator.associative operator.commutative operator:*")
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def limits(self, problem: Reduce) -> str | None:
        return f"{problem.rows} results" if problem.rows > MOST_ROWS else None

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "results", *numbers_of(problem))),)

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """Neighbouring threads read a row apart, unless rows are adjacent."""
        size, count = problem.input_arrays[0].numpy.itemsize, problem.rows * problem.columns
        stride = problem.columns if problem.inner == 1 else 1
        made = apart(count, stride, size) + stored_beside(problem.rows)
        guard = Accesses(divergent_warps=int(problem.rows % WARP != 0))
        return {self.kernel(): made + chain(count, problem.columns) + guard}


STRATEGY = Naive()
