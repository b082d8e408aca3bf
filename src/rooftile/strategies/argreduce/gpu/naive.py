"""`naive`: a thread a result."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import PLACE_BYTES, GpuArgreduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.rows import numbers_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class Naive(GpuArgreduce):
    """Takes every problem."""

    name = "naive"
    summary = "a thread a result"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "places", *numbers_of(problem))),)

    def accesses(self, problem: Argreduce, config: Config) -> Counted:
        """Neighbouring threads read a row apart, unless rows are adjacent."""
        size, count = problem.input_arrays[0].numpy.itemsize, problem.rows * problem.columns
        stride = problem.columns if problem.inner == 1 else 1
        made = apart(count, stride, size) + stored_beside(problem.rows, PLACE_BYTES)
        guard = Accesses(divergent_warps=int(problem.rows % WARP != 0))
        return {self.kernel(): made + chain(count, problem.columns) + guard}


STRATEGY = Naive()
