"""`block_strided`: a block takes several sections, a thread the same place of each.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 6.3.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.elementwise.gpu._base import GpuElementwise


class BlockStrided(GpuElementwise):
    """Takes every problem."""

    name = "block_strided"
    summary = "several sections a block: a thread's elements lie a block apart"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),
        Tunable("ELEMENTS", (2, 4, 8, 9, 10, 16), 4),
    )

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """ELEMENTS sections."""
        return config["BLOCK"] * config["ELEMENTS"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads, in every round."""
        return self.in_order(problem)


STRATEGY = BlockStrided()
