"""`naive`: a thread a pixel, in two-dimensional blocks. Source: PMPP, section 3.2."""

from __future__ import annotations

import math

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import WARP, Accesses, row_loads, row_stores
from rooftile.analysis.divergence import guard_2d
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.grayscale.gpu._base import MOST_BLOCKS_ACROSS, GpuGrayscale


class Naive(GpuGrayscale):
    """Takes every problem."""

    name = "naive"
    summary = "a thread a pixel, in two-dimensional blocks"
    tunables = (Tunable("ACROSS", (8, 16, 32, 64), 32), Tunable("DOWN", (4, 8, 16), 8))

    def limits(self, problem: Grayscale) -> str | None:
        wide = blocks(problem.width, self.defaults(problem)["ACROSS"]) > MOST_BLOCKS_ACROSS
        return f"{problem.width} columns are more than a grid covers" if wide else None

    def steps(self, problem: Grayscale, config: Config) -> tuple[Step, ...]:
        across, down = config["ACROSS"], config["DOWN"]
        rows = min(blocks(problem.height, down), MOST_BLOCKS)
        launch = Launch(self.kernel(), (blocks(problem.width, across), rows, 1), (across, down, 1))
        sizes = np.int64(problem.height), np.int64(problem.width)
        return (Step(launch, ("image", "gray", *sizes, *problem.weights)),)

    def accesses(self, problem: Grayscale, config: Config) -> dict[str, Accesses]:
        """Three loads of bytes that lie three apart, a store of a byte."""
        height, width, lanes = problem.height, problem.width, min(config["ACROSS"], WARP)
        alignment = math.gcd(3 * width, SECTOR_BYTES)
        found = row_loads(
            width, 3 * height, stride=3, lanes=lanes, alignment=alignment, elem_bytes=1
        )
        found += row_stores(width, height, lanes=lanes, elem_bytes=1)
        guard = guard_2d(width, height, config["ACROSS"], config["DOWN"])
        return {self.kernel(): found + Accesses(divergent_warps=guard)}


STRATEGY = Naive()
