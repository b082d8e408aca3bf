"""A thread an output: the textbook's kernel, and what the compiler and the cache make of it.

Source: PMPP, figure 16.14, with the fused block around it; PMPP, section 6.1 (memory coalescing),
on the kernel of figure 16.14; PMPP, chapter 6 (unrolling among the optimisations of its checklist);
PMPP, section 7.3.
"""

from __future__ import annotations

from typing import ClassVar

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import thread_a_result
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu._constant import ConstantWeights


class Naive(GpuConv2d):
    """Each thread walks its own windows; neighbours read the same inputs again."""

    name = "naive"
    summary = "one thread an output, everything from global memory"
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("BLOCK_X", (8, 16, 32, 64), 32),
        Tunable("BLOCK_Y", (2, 4, 8, 16), 4),
    )
    takes = GpuConv2d.takes | features("dilation groups padding_after")
    along_rows = False
    """True if threads along x make neighbours of a column instead."""

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "ALONG_ROWS": int(self.along_rows)}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        rows, columns = problem.output_size
        x, y = (rows, columns) if self.along_rows else (columns, rows)
        grid = (
            blocks(x, config["BLOCK_X"]),
            blocks(y, config["BLOCK_Y"]),
            min(problem.batch * problem.maps, MOST_BLOCKS),
        )
        launch = Launch(self.kernel(), grid, (config["BLOCK_X"], config["BLOCK_Y"], 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input and a weight."""
        launch, along = self.steps(problem, config)[0].launch, self.along_rows
        return {self.kernel(): thread_a_result(problem, launch, weights=True, along_rows=along)}


class NaiveTransposed(Naive):
    """Threads along x make neighbours of a column.

    Not faster than `naive` but slower: it shows what it costs where the loads and stores of a warp
    are not neighbours in memory.
    """

    name = "naive_transposed"
    source = "naive"
    summary = "naive with neighbours in a column: what uncoalesced accesses cost"
    along_rows = True


class RestrictUnroll(Naive):
    """`naive` with pointers that do not overlap and taps written out."""

    takes = GpuConv2d.takes
    name = "restrict_unroll"
    summary = "__restrict__ pointers and unrolled taps"
    tunables = (
        *Naive.tunables,
        Tunable("RESTRICTED", (0, 1), 1),
        Tunable("UNROLLED", (0, 1), 1),
    )


class Constant(ConstantWeights, Naive):
    """A thread an output, as in `naive`."""

    takes = GpuConv2d.takes
    name = "constant"
    family = "constant_memory"  # `constant` is a word of OpenCL C.
    summary = "weights in constant memory, whose cache serves a warp with one read"

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        (whole,) = Naive.steps(self, problem, config)
        return self.slices(problem, config, whole.launch)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input; weights come by the constant cache."""
        launch = self.steps(problem, config)[0].launch
        return {self.kernel(): thread_a_result(problem, launch, weights=False)}


STRATEGIES = (Naive(), NaiveTransposed(), RestrictUnroll(), Constant())
