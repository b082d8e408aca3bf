"""`shared`: both passes in shared memory. Source: Podlozhnyuk, "Image Convolution with CUDA"
(NVIDIA, 2007); PMPP, section 7.4."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Cell, Panels, filter_tile, panel, result_tile, window
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.separable.gpu._accesses import tile_in_shared
from rooftile.strategies.separable.gpu._base import Size2, TiledSeparable

_THREADS = 32


class Shared(TiledSeparable):
    """Takes masks whose tile fits 48 KiB."""

    name = "shared"
    summary = "input tile and column sums in shared memory, three barriers a tile"
    tunables = (
        Tunable("TILE_Y", (8, 16, 32), 32),
        Tunable("TILE_X", (32, 64), 32),
        Tunable("TEAMS", (4, 8, 16), 8),
    )

    def tile(self, problem: Separable, config: Config) -> Size2:
        return config["TILE_Y"], config["TILE_X"]

    def block(self, config: Config) -> Size2:
        return config["TEAMS"], _THREADS

    def defaults(self, problem: Separable) -> dict[str, int]:
        """The highest tile that fits."""
        found = super().defaults(problem)
        while found["TILE_Y"] > 8 and self.invalid(problem, found):
            found["TILE_Y"] //= 2
        return found

    def invalid(self, problem: Separable, config: Config) -> str | None:
        high, wide = self.tile(problem, config)
        tiles = self.grid(problem, config)[1]
        if tiles > MOST_BLOCKS:
            return f"{tiles} rows of tiles, at most {MOST_BLOCKS}"
        loaded = wide + problem.mask[1] - 1
        floats = (2 * high + problem.mask[0] - 1) * loaded
        return beyond_block(_THREADS * config["TEAMS"], 4 * floats)

    def accesses(self, problem: Separable, config: Config) -> dict[str, Accesses]:
        """The tile once; then an element a tap of both passes, from shared memory."""
        return {self.kernel(): tile_in_shared(problem, self.tile(problem, config))}

    def picture(self, problem: Separable, config: Config) -> Panels:
        """The tile, the column's sums of tile and halo, and the row's."""
        (high, wide), (down, across) = self.tile(problem, config), problem.mask
        threads, loaded = _THREADS * config["TEAMS"], wide + across - 1
        i, j = high // 2, wide // 2
        sums = window((i, j), (1, across))
        first = -((down - 1) // 2), -((across - 1) // 2)
        if problem.boundary == "valid":
            first = 0, 0
        return (
            filter_tile(
                "x, by the thread that loads it",
                (problem.height, problem.width),
                first,
                (high + down - 1, loaded),
                (high, wide),
                lambda p, q: (p * loaded + q) % threads,
                window((i, j), (down, 1)),
            ),
            panel(
                "sums of columns, in shared memory",
                (high, loaded),
                lambda p, q: Cell(
                    "used" if (p, q) in sums else "made", str((p * loaded + q) % threads)
                ),
            ),
            result_tile(
                "out",
                problem.output_size,
                (high, wide),
                lambda p, q: (p * wide + q) % threads,
                (i, j),
            ),
        )


STRATEGY = Shared()
