"""`naive`: a thread an element, everything from global memory.

Source: PMPP, section 3.4 (matrix multiplication, a thread an element of the result), and section
6.1 (coalescing).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    row_loads,
    row_stores,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.gemm.gpu.accesses import of_bias
from rooftile.strategies.gemm.gpu.tiles import TiledProduct


class NaiveProduct(TiledProduct):
    """Threads along x make neighbours of a row."""

    source = "naive"
    along_rows: ClassVar[bool] = False
    """Whether threads along x make neighbours of a column instead."""

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        """And the block, and which way its threads go."""
        x, y, _ = self.block(problem, config)
        block = {"BLOCK_X": x, "BLOCK_Y": y, "ALONG_ROWS": int(self.along_rows)}
        return {**super().macros(problem, config), **block}

    def tile(self, problem: Any, config: Config) -> tuple[int, int]:
        """See `TiledProduct.tile`."""
        x, y, _ = self.block(problem, config)
        return (x, y) if self.along_rows else (y, x)

    def block(self, problem: Any, config: Config) -> tuple[int, int, int]:
        """A thread an element."""
        return config["BLOCK_X"], config["BLOCK_Y"], 1

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """Lanes along x read one element of one matrix, and of the other as many as they are, which
        are neighbours or a line apart."""
        p, (x, y, _) = self.product(problem), self.block(problem, config)
        along, lines = (p.rows, p.columns) if self.along_rows else (p.columns, p.rows)
        lanes = min(WARP, x)
        apart = not p.transpose_a if self.along_rows else p.transpose_b
        products = p.rows * p.inner * p.columns
        found = broadcasts(products / min(lanes, along), min(lanes, along))
        if apart:
            found += row_loads(along, lines * p.inner, stride=p.inner, lanes=lanes)
        else:
            alignment = math.gcd(along, SECTOR_FLOATS)
            found += row_loads(along, lines * p.inner, lanes=lanes, alignment=alignment)
        stride = p.columns if self.along_rows else 1
        found += row_stores(along, lines, stride=stride, lanes=lanes)
        found += of_bias(self.operands, p, lanes)
        return {self.kernel(): found + Accesses(divergent_warps=guard_2d(along, lines, x, y))}
