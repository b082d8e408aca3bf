"""float32 split in two numbers of scaled float16: what rungs of such split products share.

Source: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022), for the scaled low numbers.
"""

from __future__ import annotations

_LOW_SCALE = 2.0**11
_LARGEST = 14
"""The exponent to which the largest number is brought."""
_LEAST = 2.0**-12
"""The least scaled number whose low number float16 holds whole."""
_LOST = 2.0**-36
"""The most that the split of a smaller one misses."""


def split_macros(terms: int) -> dict[str, int | str]:
    """The macros of ``common/scaled.h``."""
    numbers = {"LEAST": _LEAST, "LOW_SCALE": _LOW_SCALE, "LEAST_RESULT": _least_result(terms)}
    return {"LARGEST": _LARGEST} | {name: f"{value.hex()}f" for name, value in numbers.items()}


def _least_result(terms: int) -> float:
    """The least scaled sum of so many products that is sure: what small numbers may miss is a
    quarter of a unit of it in float32."""
    return terms * _LOST * 2.0 ** (_LARGEST + 1) * 2.0**26
