"""`naive_transposed`: `naive` with threads the other way round.

Not faster than `naive` but slower: it shows what it costs where the loads and stores of a warp
are not neighbours in memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 6.1
(memory coalescing), on the kernel of figure 16.14.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._accesses import thread_a_result
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, blocks
from rooftile.strategies.conv2d.gpu.naive import Naive


class NaiveTransposed(Naive):
    """Threads along x make neighbours of a column."""

    name = "naive_transposed"
    source = "naive"
    summary = "naive with neighbours in a column: what uncoalesced accesses cost"
    along_rows = True

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an output; x counts rows."""
        rows, columns = problem.output_size
        grid = (
            blocks(rows, config["BLOCK_X"]),
            blocks(columns, config["BLOCK_Y"]),
            min(problem.batch * problem.maps, MOST_BLOCKS),
        )
        launch = Launch(self.kernel(), grid, (config["BLOCK_X"], config["BLOCK_Y"], 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input and a weight."""
        launch = self.steps(problem, config)[0].launch
        return {self.kernel(): thread_a_result(problem, launch, weights=True, along_rows=True)}


STRATEGY = NaiveTransposed()
