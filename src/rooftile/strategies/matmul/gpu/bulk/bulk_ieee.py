"""`bulk_ieee`: both matrices split before, in two numbers of float16 each. Source: for the split
products Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
the FP32 theoretical peak performance", IJHPCA 36 (2022)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product as combinations
from typing import ClassVar

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import laid
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.matmul.gpu.bulk._tile import Side, Tile
from rooftile.strategies.matmul.gpu.bulk.bulk import SHARED_WAYS, Bulk

_NUMBERS, _PRODUCTS = 2, 3
"""Of an element, and that stand for one."""
_SPLIT_THREADS, _FEWER_THREADS, _FEW_TERMS = 512, 256, 2048
"""Of a block that splits; fewer where it reads most of its terms once."""
_COLUMNS = (64, 72, 80, 96, 128)
_SPAN = 8
"""Bytes of what is known of a row or column."""
_PIECE = 8
"""float16 of 16 bytes, in which the copy engine counts lines."""


class _SplitTile(Tile):
    """Stages hold both numbers of both matrices, and a thread two sums besides its totals."""

    numbers = _NUMBERS
    products = _PRODUCTS

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both matrices as they are split: in lines of terms, which are whole 16 bytes."""
        left, right = super().sides
        return self._split(left), self._split(right)

    def _split(self, side: Side) -> Side:
        shape = (side.places, _pitch(self.problem))
        return replace(side, array=replace(side.array, shape=shape), lies_across=False)

    @property
    def storing(self) -> str:
        """Lanes: those with results in doubt write them anew."""
        return "STORED_LANES"

    @property
    def held(self) -> int:
        return super().held + self.columns

    @property
    def _buffers(self) -> int:
        """Shared memory of the ranges of each warpgroup's rows and columns."""
        return self.config["WARPGROUPS"] * _SPAN * (64 + self.columns)


class BulkIeee(Bulk):
    """Takes matrices whose lines are whole 16 bytes of float16."""

    name = "bulk_ieee"
    multiplied = "fp16"
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("WARPGROUPS", (2,), 2),
        Tunable("TILE_C", _COLUMNS, 128),
        Tunable("SWAPPED", (0, 1), 0),
        Tunable("ROW_BLOCKS", (1, 2, 4), 2),
        Tunable("COLUMN_BLOCKS", (1, 2), 1),
        Tunable("GROUP", (4, 8, 16), 8),
    )
    summary = "Hopper's warpgroups, both matrices split in two numbers of scaled float16 before"

    def limits(self, problem: Matmul) -> str | None:
        return too_short(problem.inner) or super().limits(problem)

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "SPLIT_THREADS": _split_threads(problem)}

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        rooms = dict[str, int]()
        for name, places in (("a", problem.rows), ("b", problem.columns)):
            numbers = places * _pitch(problem) // 2
            rooms |= {
                f"high_{name}": numbers,
                f"low_{name}": numbers,
                f"row_scales_{name}": 2 * places,
            }
        return rooms

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        sizes = (problem.rows, problem.inner, problem.columns)
        threads = _split_threads(problem)
        # A warp a row, or a column.
        runs = blocks(32 * problem.rows, threads) + blocks(32 * problem.columns, threads)
        launch = Launch(self.kernel("split_both"), (runs, 1, 1), (threads, 1, 1), overlaps=True)
        numbers = ("high_a", "low_a", "high_b", "low_b")
        split = Step(launch, ("a", "b", *numbers, "row_scales_a", "row_scales_b", *sizes))
        tile = self._tile(problem, config)
        high = tile.maps({"a": "high_a", "b": "high_b"}, rounded=False)
        low = tile.maps({"a": "low_a", "b": "low_b"}, rounded=False)
        arrays = ("a", "b", "row_scales_a", "row_scales_b", "out")
        return split, Step(
            tile.launch(self.kernel()), (*high, *low, *arrays, *sizes, *tile.clusters)
        )

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """See `Bulk.accesses`: three products of two numbers.  Both matrices are read twice, for
        their scales and to split them."""
        count = sum(array.size for array in problem.arrays[:2])
        split = laid(2 * count, _NUMBERS * count, 2)
        return {self.kernel("split_both"): split, self.kernel(): self._of_product(problem, config)}

    def _tile(self, problem: Matmul, config: Config) -> Tile:
        return _SplitTile(problem, {**config, "PARTS": 1}, self.cores.bytes, self.machine)

    def _candidates(self) -> Iterator[dict[str, int]]:
        for columns, swapped in combinations(reversed(_COLUMNS), (0, 1)):
            for down, across in SHARED_WAYS:
                tile = {"TILE_C": columns, "SWAPPED": swapped}
                yield {**tile, "WARPGROUPS": 2, "ROW_BLOCKS": down, "COLUMN_BLOCKS": across}


def _split_threads(problem: Matmul) -> int:
    return _FEWER_THREADS if problem.inner < _FEW_TERMS else _SPLIT_THREADS


def _pitch(problem: Matmul) -> int:
    """Numbers of a line: whole 16 bytes, which the copy engine wants."""
    return blocks(problem.inner, _PIECE) * _PIECE


STRATEGY = BulkIeee()
