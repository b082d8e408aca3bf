"""`matvec`: the product of a matrix with a vector; the matrix may lie transposed.

``y = a x``. Both are inputs: nothing of them may be prepared before a call.

Source: PMPP, chapter 3, exercise 2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.ops.checks import check_computed, check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.fields import LATER
from rooftile.ops.problem import AnyArray, Array, Computed, Float32, Float64, Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class Matvec(Problem):
    """a[rows, columns], x[columns], y[rows]; with ``transpose`` a is stored as a[columns, rows].

    Raises `InputError` for a size below 1.
    """

    operation: ClassVar[str] = "matvec"
    words: ClassVar[str] = "a matrix of {rows} x {columns}{transpose?, transposed|}"

    rows: int
    columns: int
    transpose: bool = False
    dtype: Computed = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, columns=self.columns)
        check_computed(self.dtype)

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """a as it is stored, x[columns] and y[rows]."""
        shape = (self.rows, self.columns)
        return (
            Array("a", shape[::-1] if self.transpose else shape, self.dtype),
            Array("x", (self.columns,), self.dtype),
            Array("y", (self.rows,), self.dtype, role="output"),
        )

    @property
    def reduction(self) -> int:
        """Terms of a row."""
        return self.columns

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each element."""
        return 2 * self.rows * self.columns

    def reference(self, a: Float32, x: Float32) -> Float64:
        """The product in float64."""
        matrix = a.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            product: Float64 = (matrix.T if self.transpose else matrix) @ x.astype(np.float64)
        return product

    def magnitude(self, a: Float32, x: Float32) -> Float64:
        """Sum of |a||x| of each element's terms."""
        return self.reference(np.abs(a), np.abs(x))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Without ties, see `rooftile.ops.patterns.matmul.Matmul.hard`."""
        return {kind: arrays for kind, arrays in super().hard(seed).items() if kind != "ties"}

    def shrunk(self) -> Matvec:
        return dataclasses.replace(self, rows=min(self.rows, max(1, _SHRUNK // self.columns)))


NAMED = {
    "matvec-4096": Matvec(4096, 4096),
    "matvec-4096-transposed": Matvec(4096, 4096, True),
    "matvec-16384": Matvec(16384, 16384),
    "matvec-16384-transposed": Matvec(16384, 16384, True),
}
LARGE = Climbed.of("matvec-16384")
