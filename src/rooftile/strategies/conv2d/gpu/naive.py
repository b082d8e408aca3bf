"""`naive`: one thread an output, everything from global memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
figure 16.14, with the fused block around it.
"""

from __future__ import annotations

from typing import ClassVar

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import thread_a_result
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks


class Naive(GpuConv2d):
    """Each thread walks its own windows; neighbours read the same inputs again."""

    name = "naive"
    summary = "one thread an output, everything from global memory"
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("BLOCK_X", (8, 16, 32, 64), 32),
        Tunable("BLOCK_Y", (2, 4, 8, 16), 4),
    )
    along_rows = False
    """Whether threads along x make neighbours of a column instead."""

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """The problem, the tunables, and which way threads lie."""
        return {**super().macros(problem, config), "ALONG_ROWS": int(self.along_rows)}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an output."""
        rows, columns = problem.output_size
        grid = (
            blocks(columns, config["BLOCK_X"]),
            blocks(rows, config["BLOCK_Y"]),
            min(problem.batch * problem.maps, MOST_BLOCKS),
        )
        launch = Launch(self.kernel(), grid, (config["BLOCK_X"], config["BLOCK_Y"], 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input and a weight."""
        launch = self.steps(problem, config)[0].launch
        return {self.kernel(): thread_a_result(problem, launch, weights=True)}


STRATEGY = Naive()
