"""Rungs without tensor cores: a thread an element, and tiles of both matrices in shared memory.
Source: PMPP, section 5.5; PMPP, section 5.4; PMPP, section 5.4, with tiles of another shape; PMPP,
section 6.3 (thread coarsening); PMPP, section 6.3 (thread coarsening), in both directions."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses
from rooftile.analysis.pictures import Cell, Panels, Role, panel, result_tile
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import beyond_block, tile_of
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_strips, of_tiles
from rooftile.strategies.gemm.gpu.register_tile import RESIDENT, RegisterTileProduct, tunables
from rooftile.strategies.gemm.gpu.tiles import CornerTurnedProduct, NaiveProduct
from rooftile.strategies.matmul.gpu._base import GpuMatmul, SquareMatmul, TiledMatmul


class Naive(NaiveProduct, GpuMatmul):
    """Threads along x make neighbours of a row."""

    name = "naive"
    summary = "one thread an element, neighbours in a row, everything from global memory"
    tunables = (Tunable("BLOCK_X", (8, 16, 32, 64), 16), Tunable("BLOCK_Y", (1, 4, 8, 16), 16))


class NaiveTransposed(Naive):
    """Slower than `naive`: it shows what it costs where the loads and stores of a warp are not
    neighbours in memory."""

    name = "naive_transposed"
    summary = "the same with neighbours in a column: what uncoalesced accesses cost"
    along_rows = True


class TiledAny(SquareMatmul):
    """A value that was read from global memory serves TILE threads."""

    name = "tiled_any"
    summary = "square tiles in shared memory, for any sizes"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """The textbook's count of loads; a step reads a value of b a lane, and one of a for a row
        of lanes, four steps at a time."""
        tile = config["TILE"]
        found = of_tiles(problem, (tile, tile), (tile, tile, tile), (tile, tile), 1 + 1 / 4)
        return {self.kernel(): found}

    def picture(self, problem: Matmul, config: Config) -> Panels:
        """The first tiles of a and b, what they are followed by, and the result's tile."""
        tile, one = config["TILE"], config["TILE"] // 2
        rows, inner, columns = problem.rows, problem.inner, problem.columns

        def cell(i: int, j: int, of_a: bool) -> Cell:
            across, along = (i, j) if of_a else (j, i)
            if across >= tile:
                return Cell("other")
            role: Role = "used" if across == one else "core" if along < tile else "later"
            return Cell(role, str(i * tile + j) if along < tile else "")

        return (
            panel("a, by the thread that loads it", (rows, inner), lambda i, k: cell(i, k, True)),
            panel("b", (inner, columns), lambda k, j: cell(k, j, False)),
            result_tile(
                "out", (rows, columns), (tile, tile), lambda i, j: i * tile + j, (one, one)
            ),
        )


class Tiled(TiledAny):
    """Takes sizes that tiles divide: there it guards nothing."""

    name = "tiled"
    summary = "square tiles in shared memory, where tiles divide all sizes"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def limits(self, problem: Matmul) -> str | None:
        least = self.tunables[0].values[0]
        if problem.rows % least or problem.inner % least or problem.columns % least:
            return f"it takes multiples of {least} and guards nothing"
        return super().limits(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """The largest tile up to 16 that divides all sizes."""
        sizes = (problem.rows, problem.inner, problem.columns)
        return {"TILE": 16 if all(size % 16 == 0 for size in sizes) else 8}

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        for size in (problem.rows, problem.inner, problem.columns):
            if size % config["TILE"]:
                return f"tiles of {config['TILE']} do not divide {size}"
        return None


class CornerTurned(CornerTurnedProduct, GpuMatmul):
    """Takes problems with a transposed matrix."""

    name = "corner_turned"
    summary = "tiles of a transposed matrix, loaded along its memory"

    def limits(self, problem: Matmul) -> str | None:
        if not (problem.transpose_a or problem.transpose_b):
            return "neither matrix is transposed: that is tiled_any"
        return super().limits(problem)


class Rectangular(TiledMatmul):
    """Takes every problem."""

    name = "rectangular"
    summary = "tiles of 16 x 64 results, so that a passes less often"
    tunables = (Tunable("TILE_ROWS", (4, 8, 16), 16), Tunable("TILE_COLUMNS", (32, 64, 128), 64))

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        return beyond_block(config["TILE_ROWS"] * config["TILE_COLUMNS"])

    def tile(self, problem: Matmul, config: Config) -> tuple[int, int]:
        return config["TILE_ROWS"], config["TILE_COLUMNS"]

    def block(self, problem: Matmul, config: Config) -> tuple[int, int, int]:
        return config["TILE_COLUMNS"], config["TILE_ROWS"], 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """A step reads a value of b a lane, and one of a for a row of lanes, four steps at a
        time; the first TILE_ROWS lanes of a row load a."""
        rows, columns = self.tile(problem, config)
        lanes = (rows, min(WARP, columns), min(WARP, columns))
        found = of_tiles(problem, (rows, columns), lanes, (columns, rows), 1 + 1 / 4)
        return {self.kernel(): found}


class Strips(SquareMatmul):
    """Takes every problem."""

    name = "strips"
    summary = "tiles a single term deep"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """As few loads as `tiled_any`'s, by a block's first row of threads alone."""
        return {self.kernel(): of_strips(problem, config["TILE"])}


class Coarsened(TiledMatmul):
    """Takes every problem."""

    name = "coarsened"
    summary = "a strip of 1 x 16 results a thread: a's tiles are loaded once for all"
    tunables = (Tunable("TILE", (8, 16), 16), Tunable("STRIP", (2, 4, 8, 16), 16))

    def tile(self, problem: Matmul, config: Config) -> tuple[int, int]:
        return config["TILE"], config["TILE"] * config["STRIP"]

    def block(self, problem: Matmul, config: Config) -> tuple[int, int, int]:
        return config["TILE"], config["TILE"], 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """A step reads a value of b for each tile of the strip, and one of a for all."""
        tile, reads = config["TILE"], config["STRIP"] + 1 / 4
        found = of_tiles(
            problem, self.tile(problem, config), (tile, tile, tile), (tile, tile), reads
        )
        return {self.kernel(): found}


class TwoByTwo(TiledMatmul):
    """Takes every problem."""

    name = "two_by_two"
    summary = "2 x 2 results a thread: half of the reads of shared memory"
    tunables = (Tunable("HALF", (8, 16), 16),)

    def tile(self, problem: Matmul, config: Config) -> tuple[int, int]:
        return 2 * config["HALF"], 2 * config["HALF"]

    def block(self, problem: Matmul, config: Config) -> tuple[int, int, int]:
        return config["HALF"], config["HALF"], 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """A step reads two values of b a lane, and two of a for a row of lanes, four steps at a
        time."""
        half, reads = config["HALF"], 2 + 2 / 4
        found = of_tiles(
            problem, self.tile(problem, config), (half, half, half), (half, half), reads
        )
        return {self.kernel(): found}


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


STRATEGIES = (
    Naive(),
    NaiveTransposed(),
    TiledAny(),
    Tiled(),
    CornerTurned(),
    Rectangular(),
    Strips(),
    Coarsened(),
    TwoByTwo(),
    RegisterTile(),
)
