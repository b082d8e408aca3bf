"""Lines of both matrices by the bulk copy engine, products on warpgroups.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and bulk copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product as combinations
from typing import ClassVar

import numpy as np

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.analysis.traffic import matmul_tile
from rooftile.devices.gpu import Launch
from rooftile.ops import FORMATS, Array
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.cores import MOST_SUMMED, WgmmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import brought, laid, operands
from rooftile.strategies.common.storage import is_narrow
from rooftile.strategies.common.warpgroups import elements, wgmma, wgmma_wait
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.matmul.gpu._base import GpuMatmul
from rooftile.strategies.matmul.gpu._turn import turning, turning_accesses
from rooftile.strategies.matmul.gpu.bulk._tile import Tile

_ROUND_THREADS = 256
_PIECE = 16
"""Bytes in which the copy engine counts lines."""
_WIDEST = 256
_COLUMNS = (16, 32, 64, 72, 80, 96, 128, 160, _WIDEST)
SHARED_WAYS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1))
"""Rows and columns of blocks that share what they bring: others were slower wherever timed."""


class Bulk(WgmmaStrategy, GpuMatmul):
    """Takes matrices whose lines are whole 16 bytes."""

    name = "bulk_{precision}"
    summary = "Hopper's warpgroups, both matrices in {numbers} as they lie, from shared memory"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "a,b:narrow", "OUT_NARROW": "out:narrow"}
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("WARPGROUPS", (1, 2), 2),
        Tunable("TILE_C", _COLUMNS, _WIDEST),
        Tunable("SWAPPED", (0, 1), 0),
        Tunable("ROW_BLOCKS", (1, 2, 4), 2),
        Tunable("COLUMN_BLOCKS", (1, 2), 1),
        Tunable("PARTS", (1, 2, 4), 1),
        # Clusters' tiles across that are taken together, so that what all read stays in the cache.
        Tunable("GROUP", (4, 8, 16), 8),
    )

    def limits(self, problem: Matmul) -> str | None:
        whole = _PIECE // self.cores.bytes
        for array in problem.arrays[:2]:
            if array.shape[1] % whole:
                return f"{array.name} has lines of {array.shape[1]}: it takes multiples of {whole}"
        if problem.inner > MOST_SUMMED:
            return f"{problem.inner} products summed by the cores, at most {MOST_SUMMED}"
        if next(self._possible(problem), None) is None:
            return f"no tile fits into {self.machine.block_shared_bytes} bytes of shared memory"
        return super().limits(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """The estimate's fastest, for numbers as they come."""
        possible = ((tile.clocks, config) for tile, config in self._possible(problem))
        _, found = min(
            possible, key=lambda entry: (entry[0], -entry[1]["WARPGROUPS"]), default=(0, {})
        )
        return {**super().defaults(problem), **found}

    def _possible(self, problem: Matmul) -> Iterator[tuple[Tile, Config]]:
        """The tiles that the machine can run, with their configs, for numbers as they come."""
        if self.narrow:
            dtype = FORMATS[self.narrow].dtype
            problem = problem.stored(a=dtype, b=dtype, out=dtype)
        for config in self._candidates():
            tile = self._tile(problem, config)
            if tile.invalid is None:
                yield tile, config

    def clocks(self, problem: Matmul, config: Config) -> float:
        """See `GpuStrategy.clocks`: the tile's own estimate."""
        return self._tile(problem, config).clocks

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        return self._tile(problem, config).invalid

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        tile = self._tile(problem, config)
        left, right = (side.lies_across for side in tile.sides)
        # Of numbers of 32 bits the cores want adjacent terms, except in registers.
        held = left and self.cores.bytes == 4
        sums, across = elements("(sum)", tile.columns // 2), (left, right)
        rows = ["a0", "a1", "a2", "a3"] if held else ["a"]
        return {
            **super().macros(problem, config),
            "CORES": self.cores.word,
            "ELEMENT_BYTES": self.cores.bytes,
            "LEFT_ACROSS": int(left),
            "RIGHT_ACROSS": int(right),
            "LEFT_HELD": int(held),
            "STORING": tile.storing,
            "CHUNK": tile.chunk,
            "STAGES": tile.stages,
            "BLOCKS": tile.blocks,
            "ROUND_THREADS": _ROUND_THREADS,
            "CONSUMER_REGISTERS": tile.registers,
            "PAIRED": int(problem.columns % 2 == 0),
            f"WGMMA(sum, {', '.join(rows)}, b, more)": wgmma(
                self.cores, sums, rows, "b", "more", across
            ),
            "WGMMA_WAIT_FOR(sum, later)": wgmma_wait(sums, "later"),
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        if self._as_given(problem):
            return {}
        a, b = problem.arrays[:2]
        return {"narrow_a": a.size // 2, "narrow_b": b.size // 2}

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        tile = self._tile(problem, config)
        before, names = self._before(problem, config)
        left, right = tile.maps(names, rounded=self.cores.bytes == 4)
        sizes = (problem.rows, problem.inner, problem.columns)
        return (
            *before,
            Step(tile.launch(self.kernel()), (left, right, "out", *sizes, *tile.clusters)),
        )

    def _before(
        self, problem: Matmul, config: Config
    ) -> tuple[tuple[Step, ...], Mapping[str, str]]:
        """Round both matrices to 16 bits, unless they come so; and the arrays that then stand for
        them."""
        if self._as_given(problem):
            return (), {}
        return (_rounding(self.kernel("round_both"), problem),), {"a": "narrow_a", "b": "narrow_b"}

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """See `_of_product`; where both matrices are rounded before, that too."""
        found = {self.kernel(): self._of_product(problem, config)}
        if self._as_given(problem):
            return found
        elements = sum(array.size for array in problem.arrays[:2])
        return {self.kernel("round_both"): laid(elements, elements, 2), **found}

    def _of_product(self, problem: Matmul, config: Config) -> Accesses:
        """The copy engine brings both matrices' slices, once for the blocks that share them; every
        warpgroup reads its rows and all columns."""
        tile, size = self._tile(problem, config), self.cores.bytes
        (left, right), (down, across) = tile.sides, tile.clusters
        rows, columns = tile.rows * config["ROW_BLOCKS"], tile.columns * config["COLUMN_BLOCKS"]
        counted = matmul_tile(left.places, problem.inner, right.places, rows, columns)
        found = brought(tile.numbers * (counted.m_loads + counted.n_loads), size)
        groups = down * across * tile.sharing * config["WARPGROUPS"]
        found += operands(tile.products * groups * problem.inner * (64 + tile.columns) * size)
        return found + row_stores(problem.columns, problem.rows)

    def _as_given(self, problem: Matmul) -> bool:
        """True if the copy engine copies the caller's matrices."""
        return self.cores.bytes == 4 or is_narrow(problem, "a")

    def _tile(self, problem: Matmul, config: Config) -> Tile:
        return Tile(problem, config, self.cores.bytes, self.machine)

    def _candidates(self) -> Iterator[dict[str, int]]:
        """Configs to choose among, those first that are preferred where estimates are equal."""
        for columns, warpgroups, swapped in combinations(reversed(_COLUMNS), (2, 1), (0, 1)):
            tile = {"WARPGROUPS": warpgroups, "TILE_C": columns, "SWAPPED": swapped}
            for down, across in SHARED_WAYS:
                yield {**tile, "ROW_BLOCKS": down, "COLUMN_BLOCKS": across, "PARTS": 1}
            yield {**tile, "ROW_BLOCKS": 1, "COLUMN_BLOCKS": 1, "PARTS": 2}


def _rounding(kernel: str, problem: Matmul) -> Step:
    eights = [array.size // 8 for array in problem.arrays[:2]]
    grid = (blocks(sum(eights), _ROUND_THREADS), 1, 1)
    launch = Launch(kernel, grid, (_ROUND_THREADS, 1, 1))
    return Step(launch, ("a", "b", "narrow_a", "narrow_b", *map(np.int64, eights)))


class BulkTf32(Bulk):
    """Both matrices rounded to TF32, sums in float32.

    The cores take one matrix at most whose lines are terms; of two the smaller one is turned
    before.
    """

    name = "bulk_tf32"
    precision = "tf32"
    summary = "Hopper's warpgroups, both matrices as they lie, rounded by the copy engine"

    def limits(self, problem: Matmul) -> str | None:
        return super().limits(_read(problem))

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "TURNS": int(_turned(problem) is not None)}

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        array = _turned(problem)
        return {} if array is None else {"turned": array.size}

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """See `Bulk.accesses`; and what turns a matrix."""
        found, array = super().accesses(problem, config), _turned(problem)
        return found if array is None else {self.kernel("turn"): turning_accesses(array), **found}

    def _before(
        self, problem: Matmul, config: Config
    ) -> tuple[tuple[Step, ...], Mapping[str, str]]:
        array = _turned(problem)
        if array is None:
            return (), {}
        return (turning(self, array, "turned"),), {array.name: "turned"}

    def _tile(self, problem: Matmul, config: Config) -> Tile:
        return super()._tile(_read(problem), config)


def _turned(problem: Matmul) -> Array | None:
    """The matrix that is turned before, if any: the smaller one."""
    if not problem.transpose_a or problem.transpose_b:
        return None
    left, right = problem.input_arrays
    return left if problem.rows <= problem.columns else right


def _read(problem: Matmul) -> Matmul:
    """The problem as the product finds its matrices."""
    array = _turned(problem)
    if array is None:
        return problem
    if array == problem.input_arrays[0]:
        return replace(problem, transpose_a=False)
    return replace(problem, transpose_b=True)


STRATEGIES = (*family(Bulk(), "fp16", "bf16"), BulkTf32())
