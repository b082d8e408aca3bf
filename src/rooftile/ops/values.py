"""Values for a problem's arrays: ordinary ones, and those that wrong methods stumble over."""

from __future__ import annotations

import numpy as np

from rooftile.ops.array import AnyArray, Array

_DECADES = 8
"""Decades above 1 that hard values span, and below 1."""


def ordinary(array: Array, generator: np.random.Generator) -> AnyArray:
    """Normal numbers; int32 and int64 below 2^20 in magnitude, other integers of every value."""
    dtype = array.numpy
    if dtype.kind in "fV":
        return generator.standard_normal(array.shape, np.float32).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, array.shape).astype(dtype)
    limits = np.iinfo(dtype)
    whole = array.dtype not in ("int32", "int64")
    low, most = (limits.min, limits.max) if whole else (-(2**20), 2**20 - 1)
    return generator.integers(low, most, array.shape, dtype, endpoint=True)


HARD = ("many decades", "subnormal", "infinities", "NaN")
"""Kinds of hard floating-point numbers."""


def hard(array: Array, kind: str, generator: np.random.Generator) -> AnyArray:
    """Values of this kind: one of `HARD`, or ``ties``; integers are hard by their ties alone."""
    values = ordinary(array, generator)
    if kind == "ties":
        return np.full_like(values, values.flat[0])
    if values.dtype.kind not in "fV":
        return values
    if kind == "many decades":
        scale = 10.0 ** generator.uniform(-_DECADES, _DECADES, values.shape)
        with np.errstate(over="ignore"):
            return (values * scale).astype(values.dtype)
    if kind == "subnormal":
        return (values * 2.0**-130).astype(values.dtype)
    special = (np.inf, -np.inf) if kind == "infinities" else (np.nan,)
    places = generator.integers(0, values.size, 1 + values.size // 40)
    values.reshape(-1)[places] = generator.choice(special, places.size)
    return values
