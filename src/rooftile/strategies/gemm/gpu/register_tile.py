"""`register_tile`: joint tiling in registers and shared memory.

Source: Volkov, Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", SC08; the sum
that several blocks share is that of Osama, Merrill, Cecka, Garland, Owens, "Stream-K",
PPoPP 2023, section 3 (fixed split).

Alone among the rungs in float32 it adds the products of a part in one sum, whose error can leave
the budget in an adverse order of terms: the text says why.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    linear_stores,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_bias
from rooftile.strategies.gemm.gpu.tiles import TiledProduct

RESIDENT = 2**16
"""About as many threads as a large GPU holds with this rung's registers."""
PARTS = (1, 2, 4, 8, 16)
_SLACK = 1.1
"""Share of the least time up to which fewer parts are taken."""
_PART_TERMS = 256
"""Least terms of a part: fewer do not pay for writing its sums and adding them."""
_FINISH_BLOCK = 256


def tunables(down: str, across: str) -> tuple[Tunable, ...]:
    """The tunables, whose names end in an operation's letters for rows and columns."""
    return (
        Tunable(f"TILE_{down}", (32, 64, 128), 128),
        Tunable(f"TILE_{across}", (32, 64, 128), 128),
        Tunable("TILE_K", (8, 16), 8),
        Tunable(f"RESULTS_{down}", (4, 8), 8),
        Tunable(f"RESULTS_{across}", (4, 8), 8),
        Tunable("PARTS", PARTS, 1),
    )


class RegisterTileProduct(TiledProduct):
    """Tiles of results in the registers of a block's threads, and terms shared out in parts."""

    axes: ClassVar[tuple[str, str]]
    """The letters with which names of tunables end, for rows and for columns."""

    def config_of(self, rows: int, columns: int) -> dict[str, int]:
        """A tile of ``rows`` by ``columns`` results; with 64 results a thread, registers are left
        for the fewer loads of a shorter one."""
        down, across = self.axes
        return {
            f"TILE_{down}": rows,
            f"TILE_{across}": columns,
            "TILE_K": 8 if (rows, columns) == (128, 128) else 16,
            f"RESULTS_{down}": 8 if rows == 128 else 4,
            f"RESULTS_{across}": 8 if columns == 128 else 4,
        }

    def invalid(self, problem: Any, config: Config) -> str | None:
        across = self.tile(problem, config)[1] // self._results(config)[1]
        return f"a tile is {across} threads wide, a warp 8" if across < 8 else None

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        (rows, columns), (down, across) = self.tile(problem, config), self._results(config)
        p = self.product(problem)
        sizes = {"TILE_R": rows, "TILE_C": columns, "RESULTS_R": down, "RESULTS_C": across}
        whole = {**vectors(p), "OUT_VECTORS": int(p.columns % 4 == 0)}
        return {**super().macros(problem, config), **sizes, **whole, "FINISH_BLOCK": _FINISH_BLOCK}

    def tile(self, problem: Any, config: Config) -> tuple[int, int]:
        down, across = self.axes
        return config[f"TILE_{down}"], config[f"TILE_{across}"]

    def block(self, problem: Any, config: Config) -> tuple[int, int, int]:
        (rows, columns), (down, across) = self.tile(problem, config), self._results(config)
        return rows // down * (columns // across), 1, 1

    def _results(self, config: Config) -> tuple[int, int]:
        """Rows and columns of a thread's results."""
        down, across = self.axes
        return config[f"RESULTS_{down}"], config[f"RESULTS_{across}"]

    def threads(self, problem: Any, config: Config) -> int:
        return self.tiles(problem, config) * self.block(problem, config)[0]

    def parts(self, problem: Any, config: Config) -> int:
        """Parts that keep the device busy to the end: its last round of blocks may be nearly
        empty."""
        threads, terms = self.threads(problem, config), self.product(problem).inner
        rounds = {
            parts: blocks(parts * threads, RESIDENT) / parts
            for parts in PARTS
            if parts == 1 or parts * _PART_TERMS <= terms
        }
        return min(p for p, taken in rounds.items() if taken <= _SLACK * min(rounds.values()))

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        p, parts = self.product(problem), config["PARTS"]
        return {"partial": parts * p.rows * p.columns} if parts > 1 else {}

    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles and parts; another that adds the parts, where there are several."""
        rows, inner, columns = self.sizes(problem)
        parts, deep = config["PARTS"], config["TILE_K"]
        share = blocks(blocks(inner, deep), parts) * deep
        grid = (self.tiles(problem, config), parts, 1)
        launch = Launch(self.kernel(), grid, self.block(problem, config))
        sizes = rows, inner, columns, share
        if parts == 1:
            return (Step(launch, (*self.operands, "out", *sizes)),)
        across = (blocks(rows * columns, _FINISH_BLOCK), 1, 1)
        finish = Launch(self.kernel("finish"), across, (_FINISH_BLOCK, 1, 1))
        left, right, *bias = self.operands
        return (
            Step(launch, (left, right, "partial", *sizes)),
            Step(finish, ("partial", *bias, "out", rows, columns)),
        )

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """Tiles loaded in vectors of four; of each step a thread reads its rows' values and its
        columns'."""
        p, (rows, columns), deep = (
            self.product(problem),
            self.tile(problem, config),
            config["TILE_K"],
        )
        down, across = blocks(p.rows, rows), blocks(p.columns, columns)
        found = fours_loaded(p.arrays[0].shape, across, rows if p.transpose_a else deep)
        found += fours_loaded(p.arrays[1].shape, down, deep if p.transpose_b else columns)
        reads = sum(self._results(config)) / 4
        steps, parts = blocks(p.inner, deep) * deep, config["PARTS"]
        warps = down * across * warps_of(self.block(problem, config)[0])
        found += Accesses(shared_reads=warps * steps * reads)
        found += row_stores(p.columns, p.rows * parts)
        bias, results = of_bias(self.operands, p, WARP), p.rows * p.columns
        if parts == 1:
            return {self.kernel(): found + bias}
        sums = row_loads(results, parts, alignment=math.gcd(results, SECTOR_FLOATS))
        return {self.kernel(): found, self.kernel("finish"): sums + bias + linear_stores(results)}


def vectors(problem: Matmul) -> dict[str, int]:
    """The macros that say which matrices have rows of whole 16 bytes."""
    a, b = problem.arrays[:2]
    return {"A_VECTORS": int(a.shape[1] % 4 == 0), "B_VECTORS": int(b.shape[1] % 4 == 0)}


def fours_loaded(shape: tuple[int, ...], times: int, lanes: int) -> Accesses:
    """All of a matrix [lines][length], ``times`` times, in runs of ``lanes`` neighbours."""
    lines, length = shape
    alignment = math.gcd(length, SECTOR_FLOATS)
    found = row_loads(length, lines * times, lanes=lanes, alignment=alignment)
    return replace(found, load_requests=found.loads / WARP / (4 if length % 4 == 0 else 1))
