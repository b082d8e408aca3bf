"""`naive`: a thread an element.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.5.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.elementwise.gpu._base import GpuElementwise


class Naive(GpuElementwise):
    """Takes every problem."""

    name = "naive"
    summary = "a thread an element"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512, 1024), 256),)

    def of_block(self, problem: Elementwise, config: Config) -> int:
        """An element a thread."""
        return config["BLOCK"]

    def of_element(self, problem: Elementwise, config: Config) -> tuple[Accesses, Accesses]:
        """Neighbours by neighbouring threads."""
        return self.in_order(problem)


STRATEGY = Naive()
