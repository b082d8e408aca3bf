"""`tiled`: see `CornerTurnedProduct`."""

from __future__ import annotations

from rooftile.strategies.gemm.gpu.corner_turned import CornerTurnedProduct
from rooftile.strategies.linear.gpu._base import LinearProduct


class Tiled(CornerTurnedProduct, LinearProduct):
    """A value that was read from global memory serves TILE threads."""

    name = "tiled"
    summary = "square tiles of inputs and weights in shared memory"


STRATEGY = Tiled()
