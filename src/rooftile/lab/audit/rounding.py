"""What lower precisions make of float32 inputs, and how far a result may be off then."""

from __future__ import annotations

import numpy as np

from rooftile.errors import InputError
from rooftile.ops import ERROR_MODELS, ErrorModel, Float32

CLAIMS: dict[str, ErrorModel] = {
    **ERROR_MODELS,
    "tf32": ErrorModel(unit=2.0**-11, factor=2.0, spreads=False),
    "fp16": ErrorModel(unit=2.0**-11, factor=2.0, spreads=False),
    "bf16": ErrorModel(unit=2.0**-8, factor=2.0, spreads=False),
}
"""Precisions that a foreign kernel may claim.  Arrays are float32 at each of them: a claim is
about the arithmetic in between."""


def check_claim(precision: str) -> None:
    """Raise `InputError` unless it is a precision that can be claimed."""
    if precision not in CLAIMS:
        raise InputError("precision", repr(precision), f"one of {sorted(CLAIMS)}")


def fp16(values: Float32) -> Float32:
    """Rounded to 16-bit floats."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


def bf16(values: Float32) -> Float32:
    """Rounded to 8 significant bits, to nearest even."""
    return _to_bits(values, 16)


def tf32(values: Float32) -> Float32:
    """Rounded to 11 significant bits, to nearest even."""
    return _to_bits(values, 13)


def tf32_cut(values: Float32) -> Float32:
    """Cut to 11 significant bits, as a tensor core does with float32 that was not rounded."""
    bits = values.view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32)


def _to_bits(values: Float32, dropped: int) -> Float32:
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    half, last = np.uint64((1 << (dropped - 1)) - 1), (bits >> np.uint64(dropped)) & np.uint64(1)
    rounded = (bits + half + last) >> np.uint64(dropped) << np.uint64(dropped)
    return rounded.astype(np.uint32).view(np.float32)


ROUNDINGS = {"fp16": fp16, "bf16": bf16, "tf32": tf32, "tf32, cut": tf32_cut}
"""How inputs are rounded, by name."""
