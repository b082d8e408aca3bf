"""`coarsened`: a column of sums a thread.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 8.4
(thread coarsening of a stencil along the planes).
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.common.volumes import CoarsenedStrategy
from rooftile.strategies.contract.gpu import Tunable


class Coarsened(CoarsenedStrategy):
    """Takes masks whose tile shared memory holds."""

    operation = "conv3d"
    name = "coarsened"
    summary = "a column of sums a thread, so a value read from shared memory is used more"
    takes = features("boundary:valid form:batch")
    tunables = (
        Tunable("THREAD_PLANES", (2, 4, 8), 4),
        Tunable("BLOCK_Y", (4, 8, 16), 8),
        Tunable("BLOCK_X", (16, 32), 32),
    )


STRATEGY = Coarsened()
