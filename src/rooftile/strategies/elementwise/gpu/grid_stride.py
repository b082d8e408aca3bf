"""`grid_stride`: as many threads as the device holds, each a grid apart from its next.

Source: Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops" (NVIDIA, 2013).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Panels
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.elementwise.gpu._base import GpuElementwise


class GridStride(GpuElementwise):
    """Takes every problem."""

    name = "grid_stride"
    summary = "as many threads as the device holds, each a grid apart from its next element"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """A share of all elements, as many as the device holds blocks."""
        held = config["BLOCKS"] * self.machine.multiprocessors
        return max(config["BLOCK"], blocks(problem.count, held))

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads, in every round."""
        return self.in_order(problem)

    def picture(self, problem: Elementwise, config: Config) -> Panels:
        """A thread's elements lie a grid apart, which is too large to be drawn."""
        return ()


STRATEGY = GridStride()
