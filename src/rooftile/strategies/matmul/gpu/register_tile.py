"""`register_tile`: joint tiling in registers and shared memory.

Source: Volkov, Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", SC08.
"""

from __future__ import annotations

import math
from dataclasses import replace

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.matmul.gpu._base import TiledMatmul

_RESIDENT = 2**15
"""Threads that occupy a large GPU by halves: with fewer, smaller tiles are faster."""


class RegisterTile(TiledMatmul):
    """Tiles shrink where there would be too few of them."""

    name = "register_tile"
    summary = "tiles in registers and shared memory, four neighbours a load"
    tunables = (
        Tunable("TILE_R", (32, 64, 128), 128),
        Tunable("TILE_C", (32, 64, 128), 128),
        Tunable("TILE_K", (8, 16), 8),
        Tunable("RESULTS_R", (4, 8), 8),
        Tunable("RESULTS_C", (4, 8), 8),
    )

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """The largest tiles that occupy the device."""
        config = _tile(tile_of(problem.rows, 32, 128), tile_of(problem.columns, 32, 128))
        for most in (64, 32):
            rows, columns = self.tile(config)
            tiles = blocks(problem.rows, rows) * blocks(problem.columns, columns)
            if tiles * _threads(config) < _RESIDENT:
                config = _tile(min(rows, most), min(columns, most))
        return config

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        """Fewer columns across than a warp has threads beside each other."""
        across = config["TILE_C"] // config["RESULTS_C"]
        return f"a tile is {across} threads wide, a warp 8" if across < 8 else None

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """And which matrices have rows of whole 16 bytes."""
        whole = {**vectors(problem), "OUT_VECTORS": int(problem.columns % 4 == 0)}
        return {**super().macros(problem, config), **whole}

    def tile(self, config: Config) -> tuple[int, int]:
        """See `TiledMatmul.tile`."""
        return config["TILE_R"], config["TILE_C"]

    def block(self, config: Config) -> tuple[int, int, int]:
        """A thread for its results."""
        return _threads(config), 1, 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Tiles loaded in vectors of four; of each step a thread reads its rows' values and its
        columns'."""
        (rows, columns), deep = self.tile(config), config["TILE_K"]
        down, across = blocks(problem.rows, rows), blocks(problem.columns, columns)
        found = fours_loaded(problem.arrays[0].shape, across, rows if problem.transpose_a else deep)
        found += fours_loaded(
            problem.arrays[1].shape, down, deep if problem.transpose_b else columns
        )
        vectors = (config["RESULTS_R"] + config["RESULTS_C"]) / 4
        steps = blocks(problem.inner, deep) * deep
        reads = down * across * warps_of(_threads(config)) * steps * vectors
        found += Accesses(shared_reads=reads)
        return {self.kernel(): found + row_stores(problem.columns, problem.rows)}


STRATEGY = RegisterTile()


def vectors(problem: Matmul) -> dict[str, int]:
    """The macros that say which matrices have rows of whole 16 bytes."""
    a, b = problem.arrays[:2]
    return {"A_VECTORS": int(a.shape[1] % 4 == 0), "B_VECTORS": int(b.shape[1] % 4 == 0)}


def fours_loaded(shape: tuple[int, ...], times: int, lanes: int) -> Accesses:
    """All of a matrix [lines][length], so often, in runs of so many neighbours."""
    lines, length = shape
    alignment = math.gcd(length, SECTOR_FLOATS)
    found = row_loads(length, lines * times, lanes=lanes, alignment=alignment)
    return replace(found, load_requests=found.loads / WARP / (4 if length % 4 == 0 else 1))


def _tile(rows: int, columns: int) -> dict[str, int]:
    """A tile of so many rows and columns; with 64 results a thread, registers are left for the
    fewer loads of a shorter one."""
    return {
        "TILE_R": rows,
        "TILE_C": columns,
        "TILE_K": 8 if (rows, columns) == (128, 128) else 16,
        "RESULTS_R": 8 if rows == 128 else 4,
        "RESULTS_C": 8 if columns == 128 else 4,
    }


def _threads(config: Config) -> int:
    """Threads of a block."""
    return config["TILE_R"] // config["RESULTS_R"] * (config["TILE_C"] // config["RESULTS_C"])
