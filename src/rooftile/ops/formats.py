"""The number formats to which operands and results are rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Format:
    """A binary floating-point format."""

    dtype: Literal["float32", "float16", "bfloat16"]
    """The name of its type in memory in NumPy, ml_dtypes and PyTorch."""
    significant_bits: int
    bytes: int
    least_exponent: int
    """The least exponent of a normal number."""

    @property
    def unit(self) -> float:
        """The unit roundoff: the largest relative error of a rounding to the nearest."""
        return 2.0**-self.significant_bits

    @property
    def least_normal(self) -> float:
        """The least normal number; below it underflow is gradual."""
        return 2.0**self.least_exponent


FLOAT32 = Format("float32", 24, 4, -126)
FORMATS: dict[str, Format] = {
    "tf32": Format("float32", 11, 4, -126),
    "fp16": Format("float16", 11, 2, -14),
    "bf16": Format("bfloat16", 8, 2, -126),
}
"""The formats of operands at the precisions that round them."""


def format_of(precision: str) -> Format:
    """The format of operands at a precision: float32 at precisions that do not round them."""
    return FORMATS.get(precision, FLOAT32)
