"""Axes: from a value to percent of the width, with round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_MOST_TICKS = 6


@dataclass(frozen=True)
class LinearAxis:
    """An axis from nought to ``high``."""

    high: float

    def at(self, value: float) -> float:
        """Percent of the length, no less than 0 and no more than 100."""
        return 100 * min(max(value / self.high, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """At most six round values, nought among them."""
        rough = self.high / (_MOST_TICKS - 1)
        power = 10.0 ** math.floor(math.log10(rough))
        steps = (factor * power for factor in (1, 2, 2.5, 5, 10))
        step = next(step for step in steps if step >= rough * (1 - 1e-9))
        return [step * k for k in range(int(self.high / step * (1 + 1e-9)) + 1)]


@dataclass(frozen=True)
class Log:
    """An axis from ``low`` to ``high``, on which equal ratios are equally long."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float], *, room: float = 1.5) -> Log:
        """An axis around positive values, with a factor of ``room`` beyond the outermost."""
        found = [value for value in values if value > 0]
        return cls(min(found) / room, max(found) * room)

    def at(self, value: float) -> float:
        """Percent of the length, no less than 0 and no more than 100."""
        if value <= self.low:
            return 0.0
        return min(100 * math.log(value / self.low) / math.log(self.high / self.low), 100.0)

    def ticks(self) -> list[float]:
        """Powers of ten, all or at even intervals; with 2 and 5 between them on a short axis."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        factors = (1, 2, 5) if last - first <= 2 else (1,)
        step = math.ceil((last - first) / _MOST_TICKS)
        powers = range(-(-first // step) * step, last + 1, step)
        values = (factor * 10.0**power for power in powers for factor in factors)
        inside = [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]
        return inside or [self.low]
