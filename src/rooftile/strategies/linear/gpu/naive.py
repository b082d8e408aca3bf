"""`naive`: one thread an output, everything from global memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 3.4 (matrix multiplication, a thread an element of the result).
"""

from __future__ import annotations

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    linear_stores,
    row_loads,
    scattered_loads,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu._base import GpuLinear


class Naive(GpuLinear):
    """Each thread walks its own row of weights; neighbours read far apart."""

    name = "naive"
    summary = "one thread an output, everything from global memory"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 128),)

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an output."""
        grid = (blocks(problem.batch * problem.outputs, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Linear, config: Config) -> dict[str, Accesses]:
        """A lane an output: inputs at one address, weights a row apart, a bias beside another."""
        results = problem.batch * problem.outputs
        reads, lanes = results * problem.inputs, min(WARP, problem.outputs)
        found = broadcasts(reads / lanes, lanes)
        apart = problem.inputs >= SECTOR_FLOATS
        found += scattered_loads(reads) if apart else row_loads(reads, 1)
        found += row_loads(problem.outputs, problem.batch) + linear_stores(results)
        last = len(guard_1d(results, 1, config["BLOCK"]))
        return {self.kernel(): found + Accesses(divergent_warps=last)}


STRATEGY = Naive()
