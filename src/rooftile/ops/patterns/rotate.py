"""`rotate`: the elements of each row move on by some places, and those at its end to its front.

``y[..., (j + shift) mod n] = x[..., j]``, as NumPy's `roll` along the last axis.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class Rotate(Problem):
    """y[shape] of x[shape]; ``shift`` may be any integer, also below 0.

    Raises `InputError` for an array without axes, an empty one, and an unknown dtype.
    """

    operation: ClassVar[str] = "rotate"
    words: ClassVar[str] = "{shape} {dtype}, on by {shift}"

    shape: tuple[int, ...]
    shift: int = field(default=1, metadata=SIZE)
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        if not self.shape:
            raise InputError("x", "an array without axes", "one with a last axis")
        if self.dtype not in DTYPES:
            raise unknown("dtype", self.dtype, DTYPES)

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.shape[-1]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return math.prod(self.shape[:-1])

    @property
    def places(self) -> int:
        """The shift as 0 to columns - 1 places."""
        return self.shift % self.columns

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape] and y[shape]."""
        return Array("x", self.shape, self.dtype), Array("y", self.shape, self.dtype, role="output")

    @property
    def itemsize(self) -> int:
        return self.arrays[0].numpy.itemsize

    @property
    def flops(self) -> int:
        """A move for each element, which stands for an operation."""
        return math.prod(self.shape)

    def reference(self, x: AnyArray) -> AnyArray:
        """The elements as they are."""
        return np.roll(x, self.shift, -1)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly: elements are moved."""
        return Exact()

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """See `Problem.hard`; many decades are infinities in 16 bits, too."""
        with np.errstate(over="ignore"):
            return super().hard(seed)

    def shrunk(self) -> Rotate:
        columns = min(self.columns, max(1, _SHRUNK // self.rows))
        return dataclasses.replace(self, shape=(*self.shape[:-1], columns))

    def neighbours(self) -> tuple[Rotate, ...]:
        shapes = ((917,), (3, 131), (7, 5))
        return tuple(dataclasses.replace(self, shape=shape) for shape in shapes)

    def smallest(self) -> tuple[Rotate, ...]:
        return (dataclasses.replace(self, shape=(1,)),)


NAMED = {
    "list-256": Rotate((256,)),
    "list-2^28": Rotate((2**28,)),
    "lists-2^20-of-256": Rotate((2**20, 256)),
}
LARGE = Climbed.of("list-2^28")
