"""`reduce`: the sum of an array, over all of it or along its last axis.

``y[...] = sum_j x[..., j]``.  float32 gives float32; uint8 gives int64, exactly.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 10.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.problem import AnyArray, Array, Dtype, Problem, check_positive

_SUMS: dict[str, Dtype] = {"float32": "float32", "uint8": "int64"}
_SHRUNK = 2**20
"""Elements of the problem that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Reduce(Problem):
    """The sum of x[shape], or along its last axis sums[shape without it].

    ``axis`` is None, for all axes, or -1.  Raises `InputError` for another axis or dtype, and for
    an empty array.
    """

    operation: ClassVar[str] = "reduce"

    shape: tuple[int, ...]
    axis: int | None = None
    dtype: Literal["float32", "uint8"] = "float32"

    def __post_init__(self) -> None:
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        if self.axis not in (None, -1):
            raise InputError("axis", self.axis, "None, for all of them, or -1, the last")
        if self.axis == -1 and not self.shape:
            raise InputError("axis", self.axis, "None: x has no axes")
        if self.dtype not in _SUMS:
            raise InputError("dtype", self.dtype, f"one of {list(_SUMS)}")

    @property
    def rows(self) -> int:
        """How many sums there are."""
        return 1 if self.axis is None else math.prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        """Elements of one sum, which lie beside each other."""
        return math.prod(self.shape) // self.rows

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape] and sums[shape without its last axis], or one sum without axes."""
        sums = () if self.axis is None else self.shape[:-1]
        return (
            Array("x", self.shape, self.dtype),
            Array("sums", sums, _SUMS[self.dtype], role="output"),
        )

    @property
    def reduction(self) -> int:
        """Elements of one sum."""
        return self.columns

    @property
    def flops(self) -> int:
        """One addition for each element."""
        return math.prod(self.shape)

    def reference(self, x: AnyArray) -> AnyArray:
        """The sums, in float64 of float32 and in int64 of uint8."""
        dtype = np.float64 if self.dtype == "float32" else np.int64
        return np.asarray(x.sum(axis=self.axis, dtype=dtype))

    def magnitude(self, x: AnyArray) -> AnyArray:
        """The sums of the magnitudes."""
        return np.asarray(np.abs(x).sum(axis=self.axis, dtype=np.float64))

    def shrunk(self) -> Reduce:
        """As many rows, which may be summed at once, with fewer elements."""
        columns = min(self.columns, max(1, _SHRUNK // self.rows))
        shape = (columns,) if self.axis is None else (*self.shape[:-1], columns)
        return dataclasses.replace(self, shape=shape)

    def neighbours(self) -> tuple[Reduce, ...]:
        """Rows of primes, one element more than a power of two, and of one element."""
        shapes: tuple[tuple[int, ...], ...] = ((7, 131), (3, 1025), (5, 1))
        if self.axis is None:
            shapes = ((917,), (13, 1031), (65537,))
        return tuple(dataclasses.replace(self, shape=shape) for shape in shapes)

    def smallest(self) -> tuple[Reduce, ...]:
        """The problem of one element."""
        return (dataclasses.replace(self, shape=(1,) if self.axis is None else (1, 1)),)


NAMED = {
    "sum-2^20": Reduce((2**20,)),
    "sum-2^28": Reduce((2**28,)),
    "sum-bytes-2^28": Reduce((2**28,), dtype="uint8"),
    "rows-1000": Reduce((1000, 1000), -1),
    "rows-16384": Reduce((16384, 16384), -1),
}
"""Named problems."""
