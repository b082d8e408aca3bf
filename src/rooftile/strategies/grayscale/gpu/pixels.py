"""A thread for one pixel, and for a vector of them.

Source: PMPP, section 3.2.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import WARP, Accesses, row_loads, row_stores, vector_loads
from rooftile.analysis.divergence import guard_2d
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

MOST_BLOCKS_ACROSS = 2**31 - 1


class GpuGrayscale(GpuStrategy):
    """A GPU strategy of `grayscale`."""

    operation = "grayscale"
    wide_indices = True


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


_RUN = 16
"""Pixels of a thread."""


class Vectors(GpuGrayscale):
    """Takes every problem."""

    name = "vectors"
    summary = "sixteen pixels a thread, whole vectors in and out by way of shared memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def limits(self, problem: Grayscale) -> str | None:
        large = self._blocks(problem, self.defaults(problem)) > MOST_BLOCKS_ACROSS
        return f"{problem.count} pixels are more than a grid covers" if large else None

    def steps(self, problem: Grayscale, config: Config) -> tuple[Step, ...]:
        grid = (self._blocks(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("image", "gray", np.int64(problem.count), *problem.weights)),)

    def _blocks(self, problem: Grayscale, config: Config) -> int:
        return blocks(problem.count, _RUN * config["BLOCK"])

    def accesses(self, problem: Grayscale, config: Config) -> dict[str, Accesses]:
        """Vectors in and out; a thread reads 48 bytes from shared memory, 128 a pass."""
        found = vector_loads(3 * problem.count / _RUN, _RUN, elem_bytes=1)
        reads = 3 * problem.count / 128
        stores = Accesses(stores=problem.count, store_sectors=problem.count / SECTOR_BYTES)
        return {self.kernel(): found + stores + Accesses(shared_reads=reads)}

    def picture(self, problem: Grayscale, config: Config) -> Panels:
        """Rows of sixteen bytes: the threads that load them, and the threads that make sixteen
        pixels of three of them."""
        block = config["BLOCK"]

        def cell(i: int) -> Cell:
            return Cell("core" if i >= 3 else "used", str(i % block))

        return (
            panel(
                "bytes of the image, by the thread that loads them",
                (3 * block, _RUN),
                lambda i, _: cell(i),
            ),
            panel(
                "pixels, by the thread that makes them",
                (block, _RUN),
                lambda i, _: Cell("made" if i else "used", str(i)),
            ),
        )


STRATEGIES = (Naive(), Vectors())
