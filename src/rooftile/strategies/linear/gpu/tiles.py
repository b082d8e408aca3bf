"""Rungs without tensor cores: products by transposed weights with an epilogue."""

from __future__ import annotations

from rooftile.ops import Linear
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.register_tile import RESIDENT, RegisterTileProduct, tunables
from rooftile.strategies.gemm.gpu.tiles import CornerTurnedProduct, NaiveProduct
from rooftile.strategies.linear.gpu._base import LinearProduct


class Naive(NaiveProduct, LinearProduct):
    """Neighbouring threads read weights that are a row apart."""

    name = "naive"
    summary = "one thread an output, everything from global memory"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 128),)

    def block(self, problem: Linear, config: Config) -> tuple[int, int, int]:
        """BLOCK threads: as many along a row as its outputs occupy, the others on further rows."""
        across = tile_of(problem.outputs, 1, config["BLOCK"])
        return across, config["BLOCK"] // across, 1


class Tiled(CornerTurnedProduct, LinearProduct):
    """A value that was read from global memory serves TILE threads."""

    name = "tiled"
    summary = "square tiles of inputs and weights in shared memory"


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


STRATEGIES = (Naive(), Tiled(), RegisterTile())
