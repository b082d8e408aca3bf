"""`tile`: tiles of the grid in shared memory, a thread an element.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 8.3.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.common.volumes import InputTileStrategy
from rooftile.strategies.contract.gpu import Tunable


class Tile(InputTileStrategy):
    """A star that reaches four cells leaves none of a block's 10 planes but two."""

    operation = "stencil"
    name = "tile"
    summary = "tiles of the grid in shared memory, a thread an element, some idle in the sum"
    takes = features("boundary:valid")
    tunables = (
        Tunable("LOADED_Z", (1, 4, 6, 8, 10), 8),
        Tunable("LOADED_Y", (6, 8, 10, 16, 32), 8),
        Tunable("LOADED_X", (8, 10, 16, 32), 16),
    )

    def defaults(self, problem: Stencil) -> dict[str, int]:
        """The shape that 1024 threads cover best: the larger the radius, the more of a cube."""
        if problem.size[0] == 1 and problem.rank == 2:
            loaded = 1, 16, 32
        elif problem.radius > 2:
            loaded = 10, 10, 10
        else:
            loaded = 8, 8, 16
        return dict(zip(("LOADED_Z", "LOADED_Y", "LOADED_X"), loaded, strict=True))


STRATEGY = Tile()
