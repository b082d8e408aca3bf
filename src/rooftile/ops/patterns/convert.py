"""`convert`: numbers from float32 to 16 bits and back, and bytes as they are.

Each number is rounded to the nearest, halves to even; a NaN stays one.

Source: IEEE Standard for Floating-Point Arithmetic, IEEE 754-2019, section 4.3.1.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Dtype, Problem

PAIRS: tuple[tuple[Dtype, Dtype], ...] = (
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("uint8", "uint8"),
)
"""Dtypes of what is given and made."""


@dataclass(frozen=True)
class Convert(Problem):
    """x[size] of dtype ``given`` to y[size] of dtype ``made``.

    Raises `InputError` for a size below 1 and a pair of dtypes that is not in `PAIRS`.
    """

    operation: ClassVar[str] = "convert"
    words: ClassVar[str] = "{size} {given} to {made}"

    size: int
    given: Dtype = "float32"
    made: Dtype = "float16"

    def __post_init__(self) -> None:
        check_positive(size=self.size)
        if (self.given, self.made) not in PAIRS:
            found = f"{self.given} to {self.made}"
            raise InputError("given and made", found, f"one of {[' to '.join(p) for p in PAIRS]}")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x and y."""
        shape = (self.size,)
        return (
            Array("x", shape, self.given, operand=False),
            Array("y", shape, self.made, role="output"),
        )

    @property
    def flops(self) -> int:
        """One conversion for each number."""
        return self.size

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly: every conversion rounds correctly."""
        return Exact()

    def shrunk(self) -> Convert:
        """A million numbers."""
        return dataclasses.replace(self, size=min(self.size, 2**20))

    def reference(self, x: AnyArray) -> AnyArray:
        """y as NumPy rounds it."""
        with np.errstate(over="ignore", invalid="ignore"):
            return x.astype(self.arrays[1].numpy)


NAMED = {
    "scores": Convert(2**24),
    "scores-small": Convert(2**20),
    "images": Convert(2**24, "bfloat16", "float32"),
    "bytes": Convert(2**26, "uint8", "uint8"),
}
TEXTBOOK = Climbed.of("scores-small")
LARGE = Climbed.of("scores")
