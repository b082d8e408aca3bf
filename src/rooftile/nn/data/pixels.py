"""How pixels become the numbers that a network reads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rooftile.errors import InputError
from rooftile.ops import Float32

LEVELS = 256
"""So many values a pixel can have."""
_MOST_CHANNELS = 16
"""A GPU holds a table of `LEVELS` numbers for each in a block's shared memory."""


@dataclass(frozen=True)
class Pixels:
    """uint8 pixels, scaled to [0, 1] and standardised: ``(pixel / 255 - mean) / deviation``.

    ``mean`` and ``deviation`` hold one number for all channels, or one for each channel (16 at
    most).  In float32 that is one product and one difference, each rounded, the same to the bit on
    every device.  Raises `InputError`.
    """

    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        count = len(self.mean)
        if not 1 <= count <= _MOST_CHANNELS or not all(map(math.isfinite, self.mean)):
            raise InputError("mean", self.mean, f"1 to {_MOST_CHANNELS} finite numbers")
        positive = all(0 < value < math.inf for value in self.deviation)
        if len(self.deviation) != count or not positive:
            raise InputError("deviation", self.deviation, f"{count} finite numbers above 0")

    def check(self, channels: int) -> None:
        """Raise `InputError` unless the numbers fit images of so many channels."""
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
        """What `standardise` makes of every level: float32[1 or channels, 256]."""
        levels = np.arange(LEVELS, dtype=np.float32)
        made = np.tile(levels, (len(self.mean), 1, 1))
        self.standardise(made)
        return made.reshape(-1, LEVELS)
