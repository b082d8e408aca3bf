"""Results of lower precisions for float32 inputs, and the distance that a result may have then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rooftile.errors import unknown
from rooftile.ops import ERROR_MODELS, FORMATS, ErrorModel, Float32, rounded

CLAIMS: dict[str, ErrorModel] = {
    **ERROR_MODELS,
    **{name: ErrorModel(form.unit, factor=2.0, spreads=False) for name, form in FORMATS.items()},
}
"""Precisions that a foreign kernel may claim.  Arrays keep their dtypes at each of them: a claim
is about the arithmetic in between."""


def check_claim(precision: str) -> None:
    """Raise `InputError` unless it is a precision that can be claimed."""
    if precision not in CLAIMS:
        raise unknown("precision", precision, sorted(CLAIMS))


def tf32_cut(values: Float32) -> Float32:
    """Values cut to 11 significant bits, as a tensor core cuts float32 that was not rounded."""
    bits = values.view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32)


ROUNDINGS: dict[str, Callable[[Float32], Float32]] = {
    **{name: partial(rounded, precision=name) for name in ("fp16", "bf16", "tf32")},
    "tf32, cut": tf32_cut,
}
"""Roundings of inputs, by name."""
