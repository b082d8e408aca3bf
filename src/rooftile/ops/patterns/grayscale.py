"""`grayscale`: the brightness of every pixel of a picture, as a weighted sum of its colours.

``gray[i, j] = floor((r w_r + g w_g + b w_b) / 2^16 + 1/2)`` with integer weights in units of 2^-16:
halves are rounded up, and every device gives the same bytes.

Source: PMPP, section 3.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.problem import AnyArray, Array, Problem

BITS = 16
"""Weights are multiples of 2^-16."""
ONE = 1 << BITS
_ROUNDING = 2
"""Bound of the error of the sum of three rounded weights."""
_SHRUNK = 2**10


def fixed(weights: Sequence[float]) -> tuple[int, int, int]:
    """Weights of red, green and blue in units of 2^-16, each rounded to the nearest.

    Raises `InputError` unless there are three, none below 0 and their sum at most 1.
    """
    expected = "three numbers of at least 0 whose sum is at most 1"
    try:
        red, green, blue = (float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise InputError("weights", repr(weights), expected) from None
    if not (min(red, green, blue) >= 0 and red + green + blue <= 1 + 1e-9):
        raise InputError("weights", (red, green, blue), expected)
    return round(red * ONE), round(green * ONE), round(blue * ONE)


@dataclass(frozen=True)
class Grayscale(Problem):
    """gray[height, width] of image[height, width, 3], red, green and blue, all uint8.

    ``weights`` are in units of 2^-16; without any they are the book's 0.21, 0.72 and 0.07, whose
    sum is one.  Raises `InputError` for sizes below 1 and for weights whose sum exceeds 2^16 by
    more than rounding does.
    """

    operation: ClassVar[str] = "grayscale"
    words: ClassVar[str] = "a picture of {height} x {width} pixels in three colours"

    height: int
    width: int
    weights: tuple[int, ...] = field(default=(13763, 47186, 4588), metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(height=self.height, width=self.width)
        right = len(self.weights) == 3 and min(self.weights) >= 0
        if not right or sum(self.weights) > ONE + _ROUNDING:
            expected = f"three integers of at least 0, in sum at most {ONE}"
            raise InputError("weights", self.weights, expected)

    @property
    def count(self) -> int:
        """Pixels."""
        return self.height * self.width

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """image[height, width, 3] and gray[height, width]."""
        return (
            Array("image", (self.height, self.width, 3), "uint8"),
            Array("gray", (self.height, self.width), "uint8", role="output"),
        )

    @property
    def flops(self) -> int:
        """Three multiplications and two additions for each pixel."""
        return 5 * self.count

    def reference(self, image: AnyArray) -> AnyArray:
        """The rounded sums; white is never beyond 255."""
        weighted = image.astype(np.int64) @ np.array(self.weights, np.int64)
        return (weighted + ONE // 2) >> BITS

    def shrunk(self) -> Grayscale:
        height, width = min(self.height, _SHRUNK), min(self.width, _SHRUNK)
        return dataclasses.replace(self, height=height, width=width)


NAMED = {
    "picture-62x76": Grayscale(62, 76),
    "picture-600x800": Grayscale(600, 800),
    "picture-1024": Grayscale(1024, 1024),
    "picture-8192": Grayscale(8192, 8192),
}
LARGE = Climbed.of("picture-8192")
