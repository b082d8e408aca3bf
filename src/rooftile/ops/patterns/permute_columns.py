"""`permute_columns`: the columns of a matrix in another order, or any choice of them.

``y[i, j] = x[i, index[j]]``.

Source: PMPP, chapters 5 and 6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import unknown
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, Problem, ordinary


@dataclass(frozen=True)
class PermuteColumns(Problem):
    """y[rows, width] of x[rows, columns] and index[width], whose elements are 0 to columns - 1.

    Raises `InputError` for sizes below 1 and an unknown dtype.
    """

    operation: ClassVar[str] = "permute_columns"
    words: ClassVar[str] = "{width} columns of a matrix of {rows} x {columns} {dtype}"

    rows: int
    columns: int
    width: int
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, columns=self.columns, width=self.width)
        if self.dtype not in DTYPES:
            raise unknown("dtype", self.dtype, DTYPES)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[rows, columns], index[width] and y[rows, width]."""
        return (
            Array("x", (self.rows, self.columns), self.dtype),
            Array("index", (self.width,), "int32"),
            Array("y", (self.rows, self.width), self.dtype, role="output"),
        )

    @property
    def itemsize(self) -> int:
        return self.arrays[0].numpy.itemsize

    @property
    def flops(self) -> int:
        """A move for each element, which stands for an operation."""
        return self.rows * self.width

    def reference(self, x: AnyArray, index: AnyArray) -> AnyArray:
        """The elements as they are."""
        return x[:, index]

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly: elements are moved."""
        return Exact()

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Ordinary values and a permutation of the columns, or a choice of as many as needed."""
        generator = np.random.default_rng(seed)
        index = generator.permutation(self.columns)
        if self.width != self.columns:
            index = generator.integers(0, self.columns, self.width)
        return ordinary(self.arrays[0], generator), index.astype(np.int32)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """One column again and again, the last one, and values that are not finite."""
        x, index = self.random(seed)
        found = {"ties": (x, np.full_like(index, self.columns - 1))}
        if x.dtype.kind in "fV":
            special = x.copy()
            special.reshape(-1)[:: max(1, x.size // 7)] = np.nan
            special.reshape(-1)[1 :: max(1, x.size // 5)] = np.inf
            found["infinities and NaN"] = (special, index)
        return found

    def shrunk(self) -> PermuteColumns:
        return dataclasses.replace(self, rows=min(self.rows, 2**8))


NAMED = {
    "square-1024": PermuteColumns(1024, 1024, 1024),
    "square-8192": PermuteColumns(8192, 8192, 8192),
    "rows-2^20-of-64": PermuteColumns(2**20, 64, 64),
    "bytes-8192": PermuteColumns(8192, 8192, 8192, "uint8"),
}
LARGE = Climbed.of("square-8192")
