"""`coarsened`: a column of cells a thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 8.4.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.common.volumes import CoarsenedStrategy
from rooftile.strategies.contract.gpu import Tunable


class Coarsened(CoarsenedStrategy):
    """Takes every problem; a grid of two axes has no columns to make."""

    operation = "stencil"
    name = "coarsened"
    summary = "a column of cells a thread, over tiles of the grid in shared memory"
    takes = features("boundary:valid")
    tunables = (
        Tunable("THREAD_PLANES", (1, 2, 4, 8), 4),
        Tunable("BLOCK_Y", (4, 8, 16), 8),
        Tunable("BLOCK_X", (16, 32), 32),
    )

    def defaults(self, problem: Stencil) -> dict[str, int]:
        """One plane where there is only one."""
        return {**super().defaults(problem), "THREAD_PLANES": 4 if problem.rank == 3 else 1}


STRATEGY = Coarsened()
