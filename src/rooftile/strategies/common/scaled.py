"""float32 split in two numbers of scaled float16: what rungs of such split products share.

Source: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022), for the scaled low numbers.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops import Float32

LOW_SCALE = np.float32(2.0**11)
_LARGEST = 14
"""The exponent to which the largest number is brought."""
_LEAST = 2.0**-12
"""The least scaled number whose low number float16 holds whole."""
_LOST = 2.0**-36
"""The most that the split of a smaller one misses."""


def split_macros(terms: int) -> dict[str, int | str]:
    """The macros of ``common/scaled.h``."""
    numbers = {"LEAST": _LEAST, "LOW_SCALE": float(LOW_SCALE), "LEAST_RESULT": _least_result(terms)}
    return {"LARGEST": _LARGEST} | {name: f"{value.hex()}f" for name, value in numbers.items()}


def scaled(weights: Float32, terms: int) -> tuple[Float32, Float32]:
    """The weights, each map's multiplied by a power of two; and the exponents that scale results
    back, with the least result behind them that small weights leave no doubt of."""
    finite = np.where(np.isfinite(weights), np.abs(weights), 0)
    largest = finite.reshape(len(weights), -1).max(axis=1)
    # Smaller ones would want a scale beyond float32's range.
    exponents = np.maximum(np.frexp(largest)[1] - 1, _LARGEST + 1 - 127) - _LARGEST
    shape = (-1, *(1 for _ in weights.shape[1:]))
    brought = np.ldexp(weights, -exponents.reshape(shape)).astype(np.float32)
    small = ((weights != 0) & (np.abs(brought) < _LEAST)).any()
    return brought, np.append(exponents, _least_result(terms) if small else 0).astype(np.float32)


def _least_result(terms: int) -> float:
    """The least scaled sum of so many products that is sure: what small numbers may miss is a
    quarter of a unit of it in float32."""
    return terms * _LOST * 2.0 ** (_LARGEST + 1) * 2.0**26
