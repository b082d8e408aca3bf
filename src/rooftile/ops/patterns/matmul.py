"""`matmul`: the product of two matrices, either of which may lie transposed.

``out = a b``. Both matrices are inputs: nothing of them may be prepared before a call.

Source: PMPP, chapters 3, 5 and 6.
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

_SHRUNK = 64
"""Rows of the problem that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Matmul(Problem):
    """a[rows, inner], b[inner, columns], out[rows, columns].

    With ``transpose_a`` a is stored as a[inner, rows], with ``transpose_b`` b as b[columns, inner].
    Raises `InputError` for a size below 1.
    """

    operation: ClassVar[str] = "matmul"
    words: ClassVar[str] = (
        "{rows} x {inner}{transpose_a? transposed|} by {inner} x {columns}{transpose_b? "
        "transposed|}"
    )

    rows: int
    inner: int
    columns: int
    transpose_a: bool = False
    transpose_b: bool = False
    dtype: Computed = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, inner=self.inner, columns=self.columns)
        check_computed(self.dtype)

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """a and b as they lie, and out[rows, columns]."""
        a, b = (self.rows, self.inner), (self.inner, self.columns)
        return (
            Array("a", a[::-1] if self.transpose_a else a, self.dtype),
            Array("b", b[::-1] if self.transpose_b else b, self.dtype),
            Array("out", (self.rows, self.columns), self.dtype, role="output"),
        )

    @property
    def reduction(self) -> int:
        """The inner size."""
        return self.inner

    @property
    def case(self) -> str:
        """See `Problem.case`; a transposed b is another case."""
        return f"{super().case}{' transposed' if self.transpose_b else ''}"

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each term."""
        return 2 * self.rows * self.inner * self.columns

    def reference(self, a: Float32, b: Float32) -> Float64:
        """The product in float64."""
        left, right = self._turned(a.astype(np.float64), b.astype(np.float64))
        with np.errstate(invalid="ignore", over="ignore"):
            product: Float64 = left @ right
        return product

    def magnitude(self, a: Float32, b: Float32) -> Float64:
        """Sum of |a||b| of each element's terms."""
        return self.reference(np.abs(a), np.abs(b))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Without ties: equal terms round the same way all along a sum, which the budget does not
        admit of any order of float32 additions, that of BLAS included."""
        return {kind: arrays for kind, arrays in super().hard(seed).items() if kind != "ties"}

    def neighbours(self) -> tuple[Matmul, ...]:
        whole = dataclasses.replace(self, rows=72, inner=104, columns=136)
        return (*super().neighbours(), whole)

    def shrunk(self) -> Matmul:
        return dataclasses.replace(self, rows=min(_SHRUNK, self.rows))

    def _turned(self, a: Float64, b: Float64) -> tuple[Float64, Float64]:
        """Both as [rows, inner] and [inner, columns]."""
        return (a.T if self.transpose_a else a), (b.T if self.transpose_b else b)


NAMED = {
    "matmul-512": Matmul(512, 512, 512),
    "matmul-256": Matmul(256, 256, 256),
    "matmul-1000": Matmul(1000, 1000, 1000),
    "matmul-2048": Matmul(2048, 2048, 2048),
    "matmul-4096": Matmul(4096, 4096, 4096),
    "matmul-8192": Matmul(8192, 8192, 8192),
    "matmul-1000x6272x512": Matmul(1000, 6272, 512),
    "matmul-64x4096": Matmul(64, 4096, 4096),
    "matmul-1x4096": Matmul(1, 4096, 4096),
}
TEXTBOOK = Climbed.of("matmul-256")
LARGE = Climbed.of("matmul-2048")
