"""Elements of a result that several threads reach."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import (
    Accesses,
    Counted,
    beside,
    scattered_loads,
    stored_apart,
    stored_beside,
)
from rooftile.analysis.cooperation import chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.scatter import DTYPES, FUNCTIONS, Scatter
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST_BLOCKS = 2**31 - 1


class GpuScatter(GpuStrategy):
    """A thread a value."""

    operation = "scatter"
    takes = features(
        "dtype:* function:decrement,exchange,increment,max,min,multiply,subtract index:int64"
    )
    summing = "update"
    wide_indices = True
    atomic = True
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def limits(self, problem: Scatter) -> str | None:
        if max(problem.count, problem.places) > _MOST_BLOCKS * self.tunables[0].default:
            return f"{problem.count} values, more than a grid covers"
        return None

    def macros(self, problem: Scatter, config: Config) -> dict[str, int | str]:
        return {
            "FUNCTION": FUNCTIONS.index(problem.function),
            "KIND": DTYPES.index(problem.dtype),
            "VALUES": int(problem.has_values),
            "WIDE_INDEX": int(problem.index == "int64"),
            **config,
        }

    def threads(self, problem: Scatter) -> int:
        return problem.count

    def steps(self, problem: Scatter, config: Config) -> tuple[Step, ...]:
        block = config["BLOCK"], 1, 1
        copy = Launch(self.kernel("copy"), (blocks(problem.places, block[0]), 1, 1), block)
        update = Launch(
            self.kernel("update"), (blocks(self.threads(problem), block[0]), 1, 1), block
        )
        values = ("values",) if problem.has_values else ()
        places, count = np.int64(problem.places), np.int64(problem.count)
        return (
            Step(copy, ("x", "y", places)),
            Step(update, ("index", *values, "y", count, places)),
        )

    def accesses(self, problem: Scatter, config: Config) -> Counted:
        """Every place is copied; every value is joined to its own, wherever that is."""
        size = problem.output_arrays[0].numpy.itemsize
        copied = beside(problem.places, size) + stored_beside(problem.places, size)
        _, *given = problem.input_arrays
        made = sum((beside(array.size, array.numpy.itemsize) for array in given), Accesses())
        return {self.kernel("copy"): copied, self.kernel("update"): made + self.updates(problem)}

    def updates(self, problem: Scatter) -> Accesses:
        """An atomic instruction a value."""
        return increments(problem.count, problem.places, 1) + chain(0, 1)


class Sequential(GpuScatter):
    """Takes every problem."""

    name = "sequential"
    atomic = False
    summary = "one thread, one value after the other"

    def threads(self, problem: Scatter) -> int:
        return 1

    def updates(self, problem: Scatter) -> Accesses:
        """A read, an operation and a store a value, one after another."""
        moved = scattered_loads(problem.count) + stored_apart(problem.count)
        return moved + chain(problem.count, problem.count)


class CompareAndSwap(GpuScatter):
    """Takes every problem."""

    name = "compare_and_swap"
    summary = "a thread a value, a loop of compare and swap"

    def updates(self, problem: Scatter) -> Accesses:
        """See `GpuScatter.updates`: a read besides, and a swap that succeeds at once."""
        return super().updates(problem) + scattered_loads(problem.count)


class Hardware(GpuScatter):
    """Takes what there are atomics for."""

    name = "hardware"
    summary = "a thread a value, one atomic instruction"
    takes = features("dtype:* function:decrement,exchange,increment,max,min,subtract index:int64")

    def limits(self, problem: Scatter) -> str | None:
        extreme = problem.function in ("min", "max") and problem.dtype.startswith("float")
        if problem.function == "multiply" or extreme:
            return f"there is no atomic {problem.function} of {problem.dtype}"
        return super().limits(problem)


STRATEGIES = (Sequential(), CompareAndSwap(), Hardware())
