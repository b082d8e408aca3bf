"""`prism`: as `cube`, with tiles that are long along the rows.

Neighbours of a row lie in one piece of memory, so a long tile reads whole sectors, and more of its
threads have a sum.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.common.volumes import InputTileStrategy
from rooftile.strategies.contract.gpu import Tunable


class Prism(InputTileStrategy):
    """A prism of 4x8x32 inputs makes 2x6x30 sums of a 3x3x3 mask; one of 8x8x16, 6x6x14."""

    operation = "conv3d"
    name = "prism"
    summary = "prisms of inputs in shared memory, long along the rows"
    takes = features("boundary:valid form:batch")
    tunables = (
        Tunable("LOADED_Z", (4, 6, 8), 8),
        Tunable("LOADED_Y", (4, 6, 8), 8),
        Tunable("LOADED_X", (16, 32), 16),
    )


STRATEGY = Prism()
