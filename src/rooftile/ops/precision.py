"""Precisions and the error budget that follows from each.

A budget is ``c * u * sqrt(K) * S``: ``u`` the unit roundoff of the arithmetic,
``K`` the reduction length, ``S`` the sum of the magnitudes of the terms.  The
square root is the probabilistic bound of Higham and Mary, "A New Approach to
Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rooftile.errors import InputError

Precision = Literal["ieee", "fast"]
"""``ieee``: the error of float32 arithmetic, whatever the instructions.
``fast``: float32 storage, but transforms (Winograd) that lose about one decimal
digit, and whose error in one output depends on its neighbours' magnitudes."""


@dataclass(frozen=True)
class ErrorModel:
    """How large an error a precision admits."""

    unit: float
    """Unit roundoff of the arithmetic."""
    factor: float
    """The constant ``c`` of the budget."""
    spreads: bool
    """Whether rounding errors spread over a transform's tile, so that the
    magnitude that counts is the largest of the whole output plane."""


ERROR_MODELS: dict[str, ErrorModel] = {
    "ieee": ErrorModel(unit=2.0**-24, factor=2.0, spreads=False),
    # Transforms multiply errors by their matrices' norms; with one channel nothing averages
    # them, and the worst of many thousand small planes came to 50.
    "fast": ErrorModel(unit=2.0**-24, factor=64.0, spreads=True),
}


def check_precision(precision: str) -> None:
    """Raise `InputError` unless ``precision`` is one that rooftile knows."""
    if precision not in get_args(Precision):
        raise InputError("precision", repr(precision), f"one of {list(get_args(Precision))}")


def admits(asked: str, strategy: str) -> bool:
    """Whether a caller who asked for one precision may be given a strategy of another."""
    return strategy == asked or (asked == "fast" and strategy == "ieee")
