"""`register_tile`: see `RegisterTileProduct`."""

from __future__ import annotations

from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.gemm.gpu.register_tile import RESIDENT, RegisterTileProduct, tunables
from rooftile.strategies.matmul.gpu._base import GpuMatmul


class RegisterTile(RegisterTileProduct, GpuMatmul):
    """Tiles shrink where there would be too few of them."""

    name = "register_tile"
    summary = "tiles in registers and shared memory, four neighbours a load"
    axes = ("R", "C")
    tunables = tunables(*axes)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """The largest tiles that occupy half of the device, in one part."""
        tile = tile_of(problem.rows, 32, 128), tile_of(problem.columns, 32, 128)
        for most in (64, 32):
            if self.threads(problem, self.config_of(*tile)) < RESIDENT // 2:
                tile = min(tile[0], most), min(tile[1], most)
        return {**self.config_of(*tile), "PARTS": 1}


STRATEGY = RegisterTile()
