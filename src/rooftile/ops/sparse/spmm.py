"""`spmm`: a sparse matrix in CSR times a dense one, ``c[i][j] = sum of A[i][k] b[k][j]``.

Source: Yang, Buluç, Owens, "Design Principles for Sparse Matrix Multiplication on the GPU",
Euro-Par 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.draws import Draw
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Problem
from rooftile.ops.sparse.generated import Pattern, band_entries, values_of
from rooftile.ops.sparse.spmv import Spmv

_SHRUNK = 2**22
"""Multiplications of the problem that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Spmm(Problem):
    """The arrays of a matrix [rows][columns] in CSR, b[columns][width] and c[rows][width].

    Raises the errors of `Spmv`.
    """

    operation: ClassVar[str] = "spmm"
    words: ClassVar[str] = (
        "a matrix of {rows} x {columns} with {entries} entries ({pattern}) times {width} columns"
    )

    rows: int
    columns: int
    entries: int
    width: int
    dtype: Literal["float32", "float16", "float64"] = "float32"
    index: Literal["int32", "int64"] = "int32"
    pattern: Pattern = field(default="random", metadata=SIZE)
    """The positions of the entries of `random`; they change no kernel."""

    def __post_init__(self) -> None:
        check_positive(width=self.width)
        if self.index == "int32" and max(a.size for a in self.vector.arrays) >= 2**31:
            raise InputError("index", "int32", "int64: there are 2^31 elements or more")

    @cached_property
    def vector(self) -> Spmv:
        """The product of the same matrix with a vector."""
        sizes = self.rows, self.columns, self.entries
        return Spmv(*sizes, "csr", self.dtype, self.index, pattern=self.pattern)

    @property
    def summed(self) -> Literal["float32", "float64"]:
        """The dtype of b, c and of the sums."""
        return self.vector.summed

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The matrix's arrays, b and c."""
        b = Array("b", (self.columns, self.width), self.summed)
        c = Array("c", (self.rows, self.width), self.summed, role="output")
        return (*self.vector.matrix_arrays, b, c)

    def draw(self, draw: Draw) -> Spmm:
        return Spmm(**draw.matrix(), width=draw.size(1, 128))

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each entry and column of b."""
        return 2 * self.entries * self.width

    def reference(self, *arrays: AnyArray) -> AnyArray:
        """Row by row, in float64."""
        values, columns, offsets, b = arrays
        made = np.zeros((self.rows, self.width))
        some = np.flatnonzero(np.diff(offsets))
        wide = values.astype(np.float64)[:, None]
        # As many rows at a time as keep the terms few.
        ends = np.searchsorted(offsets[some], np.arange(0, self.entries, self._at_a_time))
        with np.errstate(invalid="ignore", over="ignore"):
            for part in np.split(some, np.unique(ends)):
                if part.size:
                    first, last = offsets[part[0]], offsets[part[-1] + 1]
                    terms = wide[first:last] * b[columns[first:last]]
                    made[part] = np.add.reduceat(terms, offsets[part] - first, axis=0)
        return made

    @property
    def _at_a_time(self) -> int:
        """Entries whose terms take 128 MiB."""
        return max(1, 2**24 // self.width)

    def magnitude(self, *arrays: AnyArray) -> AnyArray:
        """The terms' magnitudes times the root of their number: no two rows have one budget."""
        values, columns, offsets, b = arrays
        count = np.diff(offsets)[:, None] + 1.0
        made = self.reference(np.abs(values), columns, offsets, np.abs(b))
        return np.asarray(made * np.sqrt(count))

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """`magnitude` knows the lengths of rows."""
        return Budget(1)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.random`: a matrix of the pattern."""
        *matrix, _ = self.vector.random(seed)
        b = values_of(self.columns * self.width, self.summed, np.random.default_rng(seed + 1))
        return (*matrix, b.reshape(self.columns, self.width))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The hard inputs of the product with a vector; b has hard numbers too."""
        *_, b = self.random(seed)
        made = {}
        for kind, (*matrix, x) in self.vector.hard(seed).items():
            changed = b.copy()
            changed[:, self.width // 2] = x
            made[kind] = (*matrix, changed)
        return made

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        if arrays[which].dtype.kind == "f":
            return super().altered(arrays, which, seed)
        return (*self.random(seed)[:3], arrays[3])

    def shrunk(self) -> Spmm:
        share = max(1, self.entries * self.width // _SHRUNK)
        if share == 1:
            return self
        rows, columns, entries = (-(-n // share) for n in (self.rows, self.columns, self.entries))
        return Spmm(rows, columns, entries, self.width, self.dtype, self.index)

    def neighbours(self) -> tuple[Spmm, ...]:
        sizes = ((997, 211, 5003, 3), (61, 1031, 2003, 17), (101, 103, 17, 37))
        return tuple(Spmm(*one, self.dtype, self.index) for one in sizes)

    def smallest(self) -> tuple[Spmm, ...]:
        return (Spmm(1, 1, 1, 1, self.dtype, self.index),)


_SIZE = 2**20
NAMED = {
    "random-small-32": Spmm(2**16, 2**16, 2**20, 32, pattern="even"),
    **{
        f"banded-{width}": Spmm(_SIZE, _SIZE, band_entries(_SIZE, 13), width, pattern="banded")
        for width in (8, 32, 128)
    },
    **{
        f"random-{width}": Spmm(_SIZE, _SIZE, 16 * _SIZE, width, pattern="even")
        for width in (8, 32, 128)
    },
}
"""Named problems, by the columns of b."""
LARGE = Climbed.of("random-32")
