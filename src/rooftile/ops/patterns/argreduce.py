"""`argreduce`: the index of an array's greatest or least element; of equal ones, the first.

``y[...] = min {j : x[j] is the greatest}`` over all axes, by the flat index, or along one. A NaN is
greater and less than every number, as in NumPy: the first one is found.

Source: PMPP, chapter 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rooftile.errors import InputError, check_word
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.operator import OPERATORS, Operator
from rooftile.ops.patterns import combining
from rooftile.ops.patterns.over_axes import OverAxes, axes_of
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype

_FOUND = {"max": np.argmax, "min": np.argmin}


@dataclass(frozen=True)
class Argreduce(OverAxes):
    """The place of the ``operator`` of x[shape], over all axes (``axis`` None) or along one.

    Raises `InputError` for another axis, operator or dtype, and for an empty array.
    """

    operation: ClassVar[str] = "argreduce"
    words: ClassVar[str] = "the place of the {operator} of {shape} {dtype}{along}"

    shape: tuple[int, ...]
    axis: int | None = None
    dtype: Dtype = "float32"
    operator: Literal["max", "min"] = "max"

    def __post_init__(self) -> None:
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")
        check_word("operator", self.operator, _FOUND)
        axes_of(self.axis, len(self.shape))

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape], and places[shape without the axes]."""
        places = Array("places", self.left, "int64", role="output")
        return (Array("x", self.shape, self.dtype), places)

    @property
    def selecting(self) -> Operator:
        """The operator as one of values."""
        return OPERATORS[self.operator]

    @property
    def carried(self) -> Dtype:
        """The dtype in which elements are compared."""
        return self.selecting.carried(self.dtype)

    @property
    def flops(self) -> int:
        """One comparison for each element."""
        return math.prod(self.shape)

    def reference(self, x: AnyArray) -> AnyArray:
        """As NumPy finds it."""
        given = x.astype(np.float32) if x.dtype.itemsize == 2 else x
        return np.asarray(_FOUND[self.operator](given, axis=self.axis), np.int64)

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        (x,) = (array.copy() for array in arrays)
        place = np.random.default_rng(seed).integers(x.size)
        x.reshape(-1)[place] = combining.other(self.selecting, x.reshape(-1)[place])
        return (x,)


NAMED = {
    "max-2^20": Argreduce((2**20,)),
    "max-2^28": Argreduce((2**28,)),
    "max-10^8": Argreduce((10**8,)),
    "rows-1000": Argreduce((1000, 1000), -1),
    "rows-16384": Argreduce((16384, 16384), -1),
    "columns-1000": Argreduce((1000, 1000), 0),
    "columns-16384": Argreduce((16384, 16384), 0),
}
LARGE = Climbed.of("max-10^8")
