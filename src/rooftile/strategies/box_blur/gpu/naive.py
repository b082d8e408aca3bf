"""`naive`: a thread a byte, its window by the definition. Source: PMPP, section 3.3."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies.box_blur.gpu._accesses import of_windows
from rooftile.strategies.box_blur.gpu._base import GpuBoxBlur
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class Naive(GpuBoxBlur):
    """Takes every problem."""

    name = "naive"
    summary = "a thread a byte, its window by the definition"
    tunables = (Tunable("ACROSS", (8, 16, 32, 64), 32), Tunable("DOWN", (4, 8, 16), 8))

    def steps(self, problem: BoxBlur, config: Config) -> tuple[Step, ...]:
        across, down = config["ACROSS"], config["DOWN"]
        rows = min(blocks(problem.height, down), MOST_BLOCKS)
        grid = (blocks(problem.columns, across), rows, 1)
        return self.one(problem, Launch(self.kernel(), grid, (across, down, 1)))

    def accesses(self, problem: BoxBlur, config: Config) -> dict[str, Accesses]:
        """A load for each byte of each window."""
        return {self.kernel(): of_windows(problem, config["ACROSS"], config["DOWN"])}


STRATEGY = Naive()
