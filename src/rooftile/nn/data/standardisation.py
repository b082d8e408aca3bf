"""Standardisation of rows of features, or of images of any numbers, before a network reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.data.pixels import Numbers, numbers_of

_ROWS = 4096
"""Rows that are computed at a time: their float64 numbers stay small compared with the data."""


@dataclass(frozen=True, init=False)
class Standardisation:
    """``(x - mean) / deviation``, feature by feature, as a training set has them; of images channel
    by channel.

    ``mean`` and ``deviation`` hold one number for all features or channels, or one for each.
    They are computed with in float64.  Raises `InputError`.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def __init__(self, mean: Numbers = 0.0, deviation: Numbers = 1.0) -> None:
        for name, given in (("mean", mean), ("deviation", deviation)):
            object.__setattr__(self, name, numbers_of(name, given))
        count = len(self.mean)
        if not count or not all(map(math.isfinite, self.mean)):
            raise InputError("mean", self.mean, "finite numbers, one at least")
        if len(self.deviation) != count or not all(0 < d < math.inf for d in self.deviation):
            raise InputError("deviation", self.deviation, f"{count} finite numbers above 0")

    @classmethod
    def of(cls, features: NDArray[Any]) -> Standardisation:
        """Learnt from the rows [n, features] or images [n, channels, height, width] that are
        trained on, and from no others. A feature that never changes is only moved."""
        axes = tuple(axis for axis in range(features.ndim) if axis != 1)
        deviation = features.std(axis=axes, dtype=np.float64)
        return cls(
            features.mean(axis=axes, dtype=np.float64), np.where(deviation > 0, deviation, 1)
        )

    def check(self, count: int) -> None:
        """Raise `InputError` unless there is a number for each feature or channel."""
        if len(self.mean) not in (1, count):
            expected = f"1 or {count}: the features, or the channels"
            raise InputError("standardisation", f"{len(self.mean)} means", expected)

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows or images of any set, by what was learnt: of float32 as float32, else as float64."""
        made = np.empty(values.shape, np.float32 if values.dtype == np.float32 else np.float64)
        # Behind the axis of features or channels each number stands for all pixels.
        shape = (-1, *(1,) * (values.ndim - 2))
        mean, deviation = (np.reshape(given, shape) for given in (self.mean, self.deviation))
        for first in range(0, len(values), _ROWS):
            part = slice(first, first + _ROWS)
            made[part] = (values[part] - mean) / deviation
        return made
