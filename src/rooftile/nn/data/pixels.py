"""The conversion of pixels to the numbers that a network reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.ops import Float32

LEVELS = 256
"""Number of values of a pixel."""
_MOST_CHANNELS = 16
"""A GPU holds a table of `LEVELS` numbers for each in a block's shared memory."""


Numbers = float | Sequence[float] | NDArray[Any]
"""One number, or several in a row."""


def numbers_of(name: str, given: Numbers) -> tuple[float, ...]:
    """One number or several as a tuple.  Raises `InputError` by the argument's name."""
    try:
        array = np.atleast_1d(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise InputError(name, repr(given), "a number, or several in a row")
    return tuple(array.tolist())


@dataclass(frozen=True, init=False)
class Pixels:
    """uint8 pixels, scaled to [0, 1] and standardised: ``(pixel / 255 - mean) / deviation``.

    ``mean`` and ``deviation`` hold one number for all channels, or one for each channel (16 at
    most); a number by itself is taken too, and any sequence or array.  In float32 that is one
    product and one difference, each rounded, the same to the bit on every device.  Raises
    `InputError`.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def __init__(self, mean: Numbers = 0.0, deviation: Numbers = 1.0) -> None:
        for name, given in (("mean", mean), ("deviation", deviation)):
            object.__setattr__(self, name, numbers_of(name, given))
        count = len(self.mean)
        if not 1 <= count <= _MOST_CHANNELS or not all(map(math.isfinite, self.mean)):
            raise InputError("mean", self.mean, f"1 to {_MOST_CHANNELS} finite numbers")
        positive = all(0 < value < math.inf for value in self.deviation)
        if len(self.deviation) != count or not positive:
            raise InputError("deviation", self.deviation, f"{count} finite numbers above 0")

    def check(self, channels: int) -> None:
        """Raise `InputError` unless the numbers fit images of ``channels`` channels."""
        if len(self.mean) not in (1, channels):
            raise InputError("pixels", f"{len(self.mean)} means", f"1 or {channels}: the channels")

    @property
    def largest(self) -> float:
        """The largest magnitude of the numbers."""
        ends = zip(self.mean, self.deviation, strict=True)
        return max(max(abs(mean), abs(1 - mean)) / deviation for mean, deviation in ends)

    def standardise(self, levels: Float32) -> None:
        """Turn float32[..., channels, height, width], levels 0 to 255, into numbers, in place."""
        factors, offsets = self.scales(len(self.mean)).T
        levels *= factors[:, None, None]
        levels -= offsets[:, None, None]

    def scales(self, channels: int) -> Float32:
        """Of each channel the factor of its levels, and what is taken off: float32[channels, 2]."""
        mean, deviation = np.array(self.mean), np.array(self.deviation)
        both = np.stack([1 / (255 * deviation), mean / deviation], axis=1).astype(np.float32)
        return np.ascontiguousarray(np.broadcast_to(both, (channels, 2)))

    def numbers(self) -> Float32:
        """The results of `standardise` for every level: float32[1 or channels, 256]."""
        levels = np.arange(LEVELS, dtype=np.float32)
        made = np.tile(levels, (len(self.mean), 1, 1))
        self.standardise(made)
        return made.reshape(-1, LEVELS)
