"""`unique`: of neighbours that are equal, the first.

Of a sorted array, these are its different elements.  How many there are depends on the data: y has
room for all, and the second output says how many of its elements are meant.  -0.0 equals +0.0, and
a NaN every other NaN, as in NumPy.

Source: Bell, Hoberock, "Thrust: A Productivity-Oriented Library for CUDA" (GPU Computing Gems,
2011); Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.climbed import Climbed
from rooftile.ops.counted import Counted
from rooftile.ops.judgement import Exact, Judgement, Properties
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Dtype, check_positive
from rooftile.ops.sort import DTYPES, ordered


@dataclass(frozen=True)
class Unique(Counted):
    """y[count] and found[1], int64, of x[count].

    Raises `InputError` for a count below 1 and for another dtype.
    """

    operation: ClassVar[str] = "unique"
    words: ClassVar[str] = "{count} {dtype} in runs of equal ones"

    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        check_positive(count=self.count)
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[count]; y[count] and found[1]."""
        return (
            Array("x", (self.count,), self.dtype),
            Array("y", (self.count,), self.dtype, role="output"),
            Array("found", (1,), "int64", role="output"),
        )

    @property
    def flops(self) -> int:
        """A comparison for each element."""
        return self.count

    def reference(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The first of each run, with zeros behind them, and how many."""
        keys = ordered(x, zeros_equal=True)
        kept = x[np.concatenate(([True], keys[1:] != keys[:-1]))]
        y = np.zeros_like(x)
        y[: kept.size] = kept
        return y, np.array([kept.size], np.int64)

    def defined(self, *outputs: AnyArray) -> tuple[AnyArray, ...]:
        """See `Problem.defined`: nothing behind the elements that were kept."""
        y, found = outputs
        return y[: max(0, int(found[0]))], found

    def given_by_others(self, made: AnyArray) -> tuple[AnyArray, ...]:
        """See `Problem.given_by_others`: others give what was kept alone."""
        y = np.zeros(self.count, self.arrays[0].numpy)
        y[: made.size] = made
        return y, np.array([made.size], np.int64)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The number exactly; elements bit by bit, as far as they are meant."""
        return Exact() if output.name == "found" else Properties(self._wrong)

    def _wrong(self, y: AnyArray, found: AnyArray, x: AnyArray) -> str:
        wanted, (count,) = self.reference(x)
        bits = np.dtype(f"u{x.dtype.itemsize}")
        off = np.flatnonzero(y[:count].view(bits) != wanted[:count].view(bits))
        return f"{off.size} of {count} elements are not the first of their runs" if off.size else ""

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Runs of a few elements."""
        generator = np.random.default_rng(seed)
        (values,) = super().random(seed)
        return (values[np.cumsum(generator.random(self.count) < 0.4) - 1],)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Also long runs, none at all, and both zeros."""
        generator = np.random.default_rng(seed)
        (values,) = super().random(seed)
        found = {**super().hard(seed), "all different": (values,)}
        found["long runs"] = (values[np.cumsum(generator.random(self.count) < 0.001) - 1],)
        if values.dtype.kind in "fV":
            zeros = np.array([0.0, -0.0, 1.0]).astype(values.dtype)
            found["both zeros"] = (generator.choice(zeros, self.count),)
        return found


NAMED = {
    "runs-10^6": Unique(10**6),
    "runs-2^26": Unique(2**26),
    "runs-10^8": Unique(10**8),
    "runs-2^28": Unique(2**28),
}
"""Named problems."""
LARGE = Climbed.of("runs-10^8")
