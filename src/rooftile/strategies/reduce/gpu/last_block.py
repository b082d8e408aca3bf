"""`last_block`: the last block to end joins the partial results. Source: NVIDIA, "CUDA C++
Programming Guide", memory fence functions (the example of a sum)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Accesses, Counted, beside, stored_apart, stored_beside
from rooftile.analysis.cooperation import chain, warp_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import row_vector
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.reduce.gpu._base import PersistentReduce

_LOADED = {"float32": "float", "float64": "double", "int64": "int64", "uint64": "uint64"}
"""Types of C by which a carried value is read past the cache; the others have 32 bits."""


class LastBlock(PersistentReduce):
    """Results are the same in every run, whichever block is the last."""

    name = "last_block"
    devices = ("cuda",)
    summary = "the last block joins the partial results, by tickets"
    tunables = (*PersistentReduce.tunables, Tunable("LOADS", (1, 2, 4, 8), 4))

    def limits(self, problem: Reduce) -> str | None:
        if problem.inner > 1:
            return f"the elements of a result lie {problem.inner} apart"
        if problem.rows > MOST_BLOCKS:
            return f"{problem.rows} rows, at most {MOST_BLOCKS}"
        return super().limits(problem)

    def loads(self, config: Config) -> int:
        """LOADS vectors, of at least one element."""
        return config["LOADS"]

    def macros(self, problem: Reduce, config: Config) -> dict[str, int | str]:
        loaded = _LOADED.get(problem.carried, "int")
        macros = super().macros(problem, config)
        return {**macros, "VECTOR": row_vector(problem), "LOADED": loaded, "FINAL": 0}

    def workspace(self, problem: Reduce, config: Config) -> dict[str, int]:
        count = problem.rows * self.segments(problem, config)
        return {
            "partials": blocks(CARRIED_BYTES[problem.carried] * count, 4),
            "tickets": problem.rows,
        }

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        block = (config["THREADS"], 1, 1)
        clear = Launch(self.kernel("clear"), (blocks(problem.rows, config["THREADS"]), 1, 1), block)
        grid = (self.segments(problem, config), problem.rows, 1)
        given = ("x", "partials", "results", "tickets", np.int64(problem.columns))
        return (
            Step(clear, ("tickets", problem.rows)),
            Step(Launch(self.kernel(), grid, block), given),
        )

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """As `vectors`; then a ticket a block, and the last one's trip through partial results."""
        segments, rows = self.segments(problem, config), problem.rows
        size, held = CARRIED_BYTES[problem.carried], rows * segments
        width = row_vector(problem)
        given = problem.input_arrays[0].numpy.itemsize
        made = beside(rows * problem.columns, given, width) + self.shares(problem, config)
        made += warp_tree(config["THREADS"], held) + stored_apart(held)
        made += Accesses(atomics=held, turns=segments, turns_if_equal=segments)
        last = beside(held, size) + chain(held, blocks(segments, config["THREADS"]))
        last += warp_tree(config["THREADS"], rows) + stored_apart(rows)
        return {self.kernel("clear"): stored_beside(rows), self.kernel(): made + last}


STRATEGY = LastBlock()
