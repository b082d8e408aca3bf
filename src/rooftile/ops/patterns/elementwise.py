"""`elementwise`: ``x + y``, ``alpha x + y`` and ``alpha x``, element by element.

Our strategies round product and sum separately, so that every device gives NumPy's bits. Integers
wrap around; the sum of two bools is their logical or.

Source: PMPP, chapter 2; Lawson et al., "Basic Linear Algebra Subprograms for Fortran Usage", ACM
TOMS 5 (1979).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rooftile.errors import unknown
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Budget, Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, Problem

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "add": ("x", "y"),
    "axpy": ("x", "y", "alpha"),
    "scale": ("x", "alpha"),
}
"""The inputs of each function; a factor is the last one."""
_SCALES = ("axpy", "scale")
"""The functions that have a factor."""
_FLOATS = ("float32", "float64", "float16", "bfloat16")
TAKES: dict[str, tuple[str, ...]] = {
    "add": DTYPES,
    "axpy": _FLOATS,
    "scale": _FLOATS,
}
_SHRUNK = 2**20


@dataclass(frozen=True)
class Elementwise(Problem):
    """out[shape] of x[shape] and, as the function has them, y[shape] and alpha[1].

    The factor alpha is an array, and not a field, so that one choice and one compiled kernel serve
    every value.  Raises `InputError` for an unknown function, a dtype that it lacks, and an empty
    array.
    """

    operation: ClassVar[str] = "elementwise"
    words: ClassVar[str] = "{function} of {shape} {dtype}"

    function: Literal["add", "axpy", "scale"]
    shape: tuple[int, ...]
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise unknown("function", self.function, FUNCTIONS)
        if self.dtype not in TAKES[self.function]:
            raise unknown("dtype", self.dtype, TAKES[self.function])
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})

    @property
    def count(self) -> int:
        """Elements of the result."""
        return math.prod(self.shape)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape], y[shape], alpha[1], as far as the function has them, and out[shape]."""
        names = FUNCTIONS[self.function]
        factor = ((1,),) if self.function in _SCALES else ()
        shapes = (*(self.shape,) * (len(names) - len(factor)), *factor)
        inputs = (Array(n, shape, self.dtype) for n, shape in zip(names, shapes, strict=True))
        return (*inputs, Array("out", self.shape, self.dtype, role="output"))

    @property
    def flops(self) -> int:
        """An addition, a multiplication or both for each element."""
        return self.count * (2 if self.function == "axpy" else 1)

    @property
    def reduction(self) -> int:
        """Terms of an element's sum."""
        return 1 if self.function == "scale" else 2

    def reference(self, x: AnyArray, *others: AnyArray) -> AnyArray:
        """As IEEE 754 rounds it in the problem's dtype; in float64 what has a budget."""
        if self.function == "add":
            return np.asarray(x + others[0])
        alpha = others[-1][0]
        if self.function == "scale":
            return np.asarray(alpha * x)
        return np.asarray((np.float64(alpha) if self._fusible else alpha) * x + others[0])

    def magnitude(self, x: AnyArray, *others: AnyArray) -> AnyArray:
        """The magnitudes of product and addend."""
        return self.reference(np.abs(x), *map(np.abs, others))

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly, as each operation is rounded as IEEE 754 says; but by a budget where others may
        round product and sum at once."""
        return Budget(self.reduction) if self._fusible else Exact()

    @property
    def _fusible(self) -> bool:
        """True if float64 tells a product and sum that are rounded once from an error."""
        return self.function == "axpy" and self.dtype == "float32"

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.random`; numbers of 64 bits use all of them."""
        if self.dtype != "float64":
            return super().random(seed)
        generator = np.random.default_rng(seed)
        return tuple(generator.standard_normal(array.shape) for array in self.given_arrays)

    def shrunk(self) -> Elementwise:
        return dataclasses.replace(self, shape=(min(self.count, _SHRUNK),))

    def neighbours(self) -> tuple[Elementwise, ...]:
        shapes: tuple[tuple[int, ...], ...] = ((917,), (65537,), (13, 1031))
        return tuple(dataclasses.replace(self, shape=shape) for shape in shapes)

    def smallest(self) -> tuple[Elementwise, ...]:
        return (dataclasses.replace(self, shape=(1,)),)


NAMED = {
    "add-2^20": Elementwise("add", (2**20,)),
    "add-10^8": Elementwise("add", (10**8,)),
    "add-2^28": Elementwise("add", (2**28,)),
    "axpy-2^20": Elementwise("axpy", (2**20,)),
    "axpy-2^28": Elementwise("axpy", (2**28,)),
    "scale-2^20": Elementwise("scale", (2**20,)),
    "scale-2^28": Elementwise("scale", (2**28,)),
    "picture-565x784": Elementwise("scale", (565, 784)),
    "picture-600x800": Elementwise("scale", (600, 800)),
}
"""Named problems; the pictures are those that Kirk and Hwu's course scales by two."""
LARGE = Climbed.of("add-10^8")
