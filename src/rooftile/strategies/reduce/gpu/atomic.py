"""`atomic`: one atomic a resident block. Source: PMPP, section 10.7."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, Counted, stored_beside
from rooftile.analysis.cooperation import chain, in_turn, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.rows import numbers_of
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.reduce.gpu._base import PersistentReduce


class Atomic(PersistentReduce):
    """The last bits of a sum of floating-point numbers differ from run to run."""

    name = "atomic"
    atomic = True
    summary = "one atomic a resident block: the result depends on the run"
    takes = features("axis dtype:int32 operator:*")

    def limits(self, problem: Reduce) -> str | None:
        made = problem.output_arrays[0]
        if made.dtype != problem.carried or made.numpy.itemsize != 4:
            return f"its atomics are of 4 bytes, not of {made.dtype}"
        return super().limits(problem)

    def workspace(self, problem: Reduce, config: Config) -> dict[str, int]:
        return {}

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        block = (config["THREADS"], 1, 1)
        clear = Launch(self.kernel("clear"), (blocks(problem.rows, config["THREADS"]), 1, 1), block)
        join = Launch(self.kernel(), self.grid(problem, config), block)
        return (
            Step(clear, ("results", problem.rows)),
            Step(join, ("x", "results", *numbers_of(problem))),
        )

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """As `persistent`; then the blocks of a row take turns at its result."""
        segments, rows = self.segments(problem, config), problem.rows
        made = self.brought(problem, 0) + self.shares(problem, config)
        made += shared_tree(config["THREADS"] // 2, "sequential", rows * segments)
        made = in_turn(made, blocks(rows, MOST_BLOCKS))
        turns = Accesses(atomics=rows * segments, turns=segments, turns_if_equal=segments)
        meeting = chain(rows * segments, segments) + turns
        return {self.kernel("clear"): stored_beside(rows), self.kernel(): made + meeting}


STRATEGY = Atomic()
