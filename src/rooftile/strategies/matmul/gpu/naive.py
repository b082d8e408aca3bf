"""`naive`: a thread an element, everything from global memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 3.4.
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    row_loads,
    row_stores,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.matmul.gpu._base import TiledMatmul


class Naive(TiledMatmul):
    """Threads along x make neighbours of a row."""

    name = "naive"
    source = "naive"
    summary = "one thread an element, neighbours in a row, everything from global memory"
    tunables = (Tunable("BLOCK_X", (8, 16, 32, 64), 16), Tunable("BLOCK_Y", (1, 4, 8, 16), 16))
    along_rows = False
    """Whether threads along x make neighbours of a column instead."""

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """And which way threads lie."""
        return {**super().macros(problem, config), "ALONG_ROWS": int(self.along_rows)}

    def tile(self, config: Config) -> tuple[int, int]:
        """See `TiledMatmul.tile`."""
        x, y = config["BLOCK_X"], config["BLOCK_Y"]
        return (x, y) if self.along_rows else (y, x)

    def block(self, config: Config) -> tuple[int, int, int]:
        """A thread an element."""
        return config["BLOCK_X"], config["BLOCK_Y"], 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Lanes along x read one element of one matrix, and of the other as many as they are, which
        lie beside each other or a line apart."""
        rows, inner, columns = problem.rows, problem.inner, problem.columns
        along, lines = (rows, columns) if self.along_rows else (columns, rows)
        lanes = min(WARP, config["BLOCK_X"])
        apart = not problem.transpose_a if self.along_rows else problem.transpose_b
        products = rows * inner * columns
        found = broadcasts(products / min(lanes, along), min(lanes, along))
        if apart:
            found += row_loads(along, lines * inner, stride=inner, lanes=lanes)
        else:
            alignment = math.gcd(along, SECTOR_FLOATS)
            found += row_loads(along, lines * inner, lanes=lanes, alignment=alignment)
        stride = columns if self.along_rows else 1
        found += row_stores(along, lines, stride=stride, lanes=lanes)
        guard = guard_2d(along, lines, config["BLOCK_X"], config["BLOCK_Y"])
        return {self.kernel(): found + Accesses(divergent_warps=guard)}


STRATEGY = Naive()
