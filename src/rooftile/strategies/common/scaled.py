"""float32 split in two numbers of scaled float16: what rungs of such split products share. Source:
Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
theoretical peak performance", IJHPCA 36 (2022), for the scaled low numbers."""

from __future__ import annotations

_LOW_SCALE = 2.0**11
_LARGEST = 14
"""The exponent that the largest number is scaled to."""
_LEAST = 2.0**-12
"""The least scaled number whose low number float16 holds whole."""
_LOST = 2.0**-36
"""The most that the split of a smaller one misses."""


_LEAST_ROUNDED = 2.0**-14
"""The least scaled number of which float16 alone holds as many bits as of others."""
_LOST_ROUNDED = 2.0**-25
"""The most that it misses of a smaller one."""
_LEAST_SCALED = 2.0**-96
"""The smallest of largest numbers compared with which TF32's rounding of float32's subnormal
numbers, which have fewer bits, is below the other roundings, scaled."""


def split_macros(terms: int) -> dict[str, int | str]:
    """The macros of ``common/scaled.h``."""
    # What small numbers may miss of a sum that is sure is a quarter of a unit of it in float32.
    least_result = terms * _LOST * 2.0 ** (_LARGEST + 1) * 2.0**26
    return _macros(LEAST=_LEAST, LOW_SCALE=_LOW_SCALE, LEAST_RESULT=least_result)


def rounded_macros(terms: int) -> dict[str, int | str]:
    """Macros of TF32 numbers that are one number of float16 each."""
    # Two units, where TF32's sums may miss eight and more.
    least_result = terms * _LOST_ROUNDED * 2.0 ** (_LARGEST + 1) * 2.0**23
    return _macros(
        LEAST=_LEAST_ROUNDED,
        LOW_SCALE=_LOW_SCALE,
        LEAST_RESULT=least_result,
        LEAST_SCALED=_LEAST_SCALED,
    )


def _macros(**numbers: float) -> dict[str, int | str]:
    return {"LARGEST": _LARGEST} | {name: f"{value.hex()}f" for name, value in numbers.items()}
