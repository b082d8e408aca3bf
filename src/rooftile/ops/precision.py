"""Precisions and the error budget that follows from each.

A budget is ``c * u * sqrt(K) * S``: ``u`` the unit roundoff of the arithmetic,
``K`` the reduction length, ``S`` the sum of the magnitudes of the terms.  The
square root is the probabilistic bound of Higham and Mary, "A New Approach to
Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import check_word
from rooftile.ops.formats import FLOAT32, FORMATS, format_of

Precision = Literal["ieee", "fast", "tf32", "fp16", "bf16"]
"""``ieee``: the error of float32 arithmetic, whatever the instructions.
``fast``: float32 storage, but transforms (Winograd) that lose about one decimal
digit, and whose error in one output depends on its neighbours' magnitudes.
``tf32``, ``fp16``, ``bf16``: inputs and weights rounded to 11, 11 and 8 significant bits
(fp16 to its narrow range too), their products summed in float32 by tensor cores."""


@dataclass(frozen=True)
class ErrorModel:
    """The error that a precision admits."""

    unit: float
    """Unit roundoff of the arithmetic."""
    factor: float
    """The constant ``c`` of the budget."""
    spreads: bool
    """True if rounding errors spread over a transform's tile, so that the magnitude that counts is
    the largest of the whole output plane."""
    operands: str = "float32"
    """The format that inputs and weights are rounded to before the sum; the reference is of the
    rounded ones. ``float32``, or the name of a precision."""
    results: str = "float32"
    """The format that results are rounded to, likewise."""

    @property
    def rounding(self) -> tuple[float, float]:
        """The unit roundoff of 16-bit results and their least normal number; else zeros."""
        if self.results not in FORMATS:
            return 0.0, 0.0
        form = FORMATS[self.results]
        return form.unit, form.least_normal


ERROR_MODELS: dict[str, ErrorModel] = {
    "ieee": ErrorModel(unit=2.0**-24, factor=2.0, spreads=False),
    # Transforms multiply errors by their matrices' norms; with one channel nothing averages
    # them, and the worst of many thousand small planes came to 50.
    "fast": ErrorModel(unit=2.0**-24, factor=64.0, spreads=True),
    # Products of so few bits are exact; tensor cores cut their sums off instead of rounding.
    **{
        name: ErrorModel(unit=2.0**-24, factor=8.0, spreads=False, operands=name)
        for name in FORMATS
    },
}


def rounded(values: NDArray[np.float32], precision: str) -> NDArray[np.float32]:
    """``values``, each rounded to the nearest that a precision's operands hold, as float32.

    Ties go to even. Numbers beyond float16's range become infinities. NaN stays NaN.
    """
    if precision == "fp16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).astype(np.float32)
    dropped = FLOAT32.significant_bits - format_of(precision).significant_bits
    if not dropped:
        return values
    bits = np.ascontiguousarray(values).view(np.uint32)
    half = np.uint32((1 << dropped - 1) - 1) + (bits >> np.uint32(dropped) & np.uint32(1))
    nearest = (bits + half) & np.uint32(0xFFFFFFFF << dropped & 0xFFFFFFFF)
    # An infinity or NaN must not be carried into another exponent.
    return np.where(np.isfinite(values), nearest, bits).view(np.float32)


def check_precision(precision: str) -> None:
    """Raise `InputError` unless ``precision`` is one that rooftile knows."""
    check_word("precision", precision, get_args(Precision))


def admits(asked: str, strategy: str) -> bool:
    """True if a caller who asked for one precision may be given a strategy of another."""
    return strategy in (asked, "ieee")


def narrowed(values: NDArray[np.float32], precision: str) -> NDArray[np.uint16]:
    """``values`` as the bits of float16 (``fp16``) or bfloat16 (``bf16``), rounded as `rounded`."""
    if precision == "fp16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(rounded(values, precision)).view(np.uint32)
    # A NaN whose payload is in the lower half must not become an infinity.
    quiet = np.where(np.isnan(values), np.uint32(0x400000), np.uint32(0))
    return ((bits | quiet) >> np.uint32(16)).astype(np.uint16)


def widened(bits: NDArray[np.uint16], precision: str) -> NDArray[np.float32]:
    """The numbers whose bits `narrowed` gives, as float32."""
    if precision == "fp16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
