"""`partition`: the elements that go before a pivot, and then the others, each in their order.

It is quicksort's step, stable and without an exchange: where an element goes follows from a scan.
The order is that of `sort`, so that NaN goes after every number; -0.0 equals +0.0.

Source: Hoare, "Quicksort" (The Computer Journal 5, 1962); Blelloch, "Prefix Sums and Their
Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Exact, Judgement, Properties
from rooftile.ops.patterns.counted import Counted
from rooftile.ops.patterns.sort import ordered
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype


@dataclass(frozen=True)
class Partition(Counted):
    """y[count] and less[1], int64, of x[count] and pivot[1].

    ``less`` says how many elements go before the pivot.  Raises `InputError` for a count below 1
    and for another dtype.
    """

    operation: ClassVar[str] = "partition"
    words: ClassVar[str] = "{count} {dtype} before and after a pivot"

    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        check_positive(count=self.count)
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[count] and pivot[1]; y[count] and less[1]."""
        return (
            Array("x", (self.count,), self.dtype),
            Array("pivot", (1,), self.dtype),
            Array("y", (self.count,), self.dtype, role="output"),
            Array("less", (1,), "int64", role="output"),
        )

    @property
    def flops(self) -> int:
        """A comparison for each element."""
        return self.count

    def reference(self, x: AnyArray, pivot: AnyArray) -> tuple[AnyArray, AnyArray]:
        """By NumPy's masks."""
        before = ordered(x, zeros_equal=True) < ordered(pivot, zeros_equal=True)
        return np.concatenate((x[before], x[~before])), np.array([before.sum()], np.int64)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The number exactly, and every element bit by bit."""
        return Exact() if output == self.output_arrays[1] else Properties(self._wrong)

    def _wrong(self, y: AnyArray, less: AnyArray, x: AnyArray, pivot: AnyArray) -> str:
        bits = np.dtype(f"u{x.dtype.itemsize}")
        off = np.flatnonzero(y.view(bits) != self.reference(x, pivot)[0].view(bits))
        return f"{off.size} of {self.count} elements are not in their places" if off.size else ""

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """A pivot that some elements go before."""
        x, _ = super().random(seed)
        keys = ordered(x)
        return x, x[[int(np.argsort(keys)[self.count // 3])]]

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Pivots that all or none go before, that many equal, and both zeros."""
        x, pivot = self.random(seed)
        keys = ordered(x)
        found = {kind: (arrays[0], pivot) for kind, arrays in super().hard(seed).items()}
        found["none less"] = x, x[[int(keys.argmin())]]
        found["all but the last"] = x, x[[int(keys.argmax())]]
        generator = np.random.default_rng(seed)
        found["few values"] = generator.choice(x[:5], self.count), x[:1]
        if x.dtype.kind in "fV":
            zeros = np.array([0.0, -0.0, 1.0, -1.0, np.nan]).astype(x.dtype)
            found["both zeros"] = generator.choice(zeros, self.count), zeros[:1]
            found["a pivot of NaN"] = generator.choice(zeros, self.count), zeros[4:]
        return found


NAMED = {
    "floats-10^6": Partition(10**6),
    "floats-10^8": Partition(10**8),
    "floats-2^28": Partition(2**28),
}
LARGE = Climbed.of("floats-10^8")
