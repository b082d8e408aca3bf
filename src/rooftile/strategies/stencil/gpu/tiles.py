"""Rungs whose tiles are common to volumes, see `rooftile.strategies.common.volumes`. Source: PMPP,
section 8.3; section 8.4; Micikevicius, "3D Finite Difference Computation on GPUs using CUDA",
GPGPU-2 (2009); section 8.5."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.common.volume_march import MarchStrategy
from rooftile.strategies.common.volumes import CoarsenedStrategy, InputTileStrategy
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


class March(MarchStrategy):
    """Takes every problem."""

    operation = "stencil"
    name = "march"
    summary = "marching planes, copied ahead; open sums in registers, four columns a thread"
    takes = features("boundary:valid")


STRATEGIES = (Tile(), Coarsened(), March())
