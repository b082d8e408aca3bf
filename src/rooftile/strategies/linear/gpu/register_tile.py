"""`register_tile`: see `RegisterTileProduct`."""

from __future__ import annotations

from rooftile.ops import Linear
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.gemm.gpu.register_tile import RESIDENT, RegisterTileProduct, tunables
from rooftile.strategies.linear.gpu._base import LinearProduct


class RegisterTile(RegisterTileProduct, LinearProduct):
    """Tiles shrink, and their sums are shared out, where a batch makes too few of them."""

    name = "register_tile"
    summary = "tiles in registers and shared memory, four inputs a load"
    axes = ("B", "O")
    tunables = tunables(*axes)

    def defaults(self, problem: Linear) -> dict[str, int]:
        """The largest tiles that occupy the device; parts where tiles alone would leave it idle."""
        tile = tile_of(problem.batch, 32, 128), tile_of(problem.outputs, 32, 128)
        config = self.config_of(*tile)
        if self.threads(problem, config) < RESIDENT // 2:
            config = self.config_of(min(tile[0], 64), min(tile[1], 64))
        return {**config, "PARTS": self.parts(problem, config)}


STRATEGY = RegisterTile()
