"""A thread an element, whose reads or writes are apart. Source: Ruetsch, Micikevicius, "Optimizing
Matrix Transpose in CUDA" (NVIDIA, 2009)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import Accesses, row_loads, row_stores
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.transpose._moves import of_inputs, of_results, too_many_axes
from rooftile.strategies.transpose.gpu._base import GpuTranspose

_MOST_TILES = 2**31 - 1


class Naive(GpuTranspose):
    """Takes every permutation of up to four axes."""

    name = "naive"
    summary = "a thread an element of the result: stores are coalesced, loads lie apart"
    tunables = (Tunable("ACROSS", (8, 16, 32), 32), Tunable("DOWN", (4, 8, 16, 32), 8))
    reads = 0
    """1 if neighbouring threads read neighbours of x, and do not store neighbours of the result."""

    def limits(self, problem: Transpose) -> str | None:
        reason = too_many_axes(problem)
        if reason is not None:
            return reason
        tiles = self._tiles(problem, self.defaults(problem))
        return f"{tiles} tiles, at most {_MOST_TILES}" if tiles > _MOST_TILES else None

    def macros(self, problem: Transpose, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "READS": self.reads}

    def steps(self, problem: Transpose, config: Config) -> tuple[Step, ...]:
        shape, strides = self._moves(problem)
        grid = (self._tiles(problem, config), min(shape[0] * shape[1], MOST_BLOCKS), 1)
        launch = Launch(self.kernel(), grid, (config["ACROSS"], config["DOWN"], 1))
        return (Step(launch, ("x", "y", *map(np.int64, (*shape, *strides)))),)

    def accesses(self, problem: Transpose, config: Config) -> Mapping[str, Accesses]:
        """See `GpuStrategy.accesses`: rows of one array, and what of the other belongs to them."""
        shape, strides = self._moves(problem)
        count, lanes = problem.count // shape[3], config["ACROSS"]
        size = problem.itemsize
        along = math.gcd(shape[3], SECTOR_BYTES // size)
        stride, apart, alignment = (1, strides[3], along) if self.reads else (strides[3], 1, 1)
        found = row_loads(
            shape[3], count, stride=stride, lanes=lanes, alignment=alignment, elem_bytes=size
        )
        found += row_stores(shape[3], count, stride=apart, lanes=lanes, elem_bytes=size)
        return {self.kernel(): found}

    def _moves(self, problem: Transpose) -> tuple[list[int], list[int]]:
        return of_inputs(problem) if self.reads else of_results(problem)

    def _tiles(self, problem: Transpose, config: Config) -> int:
        shape, _ = self._moves(problem)
        return blocks(shape[3], config["ACROSS"]) * blocks(shape[2], config["DOWN"])


class NaiveReads(Naive):
    """Takes every permutation of up to four axes."""

    name = "naive_reads"
    source = "naive"
    summary = "a thread an element of x: loads are coalesced, stores lie apart"
    reads = 1


STRATEGIES = (Naive(), NaiveReads())
