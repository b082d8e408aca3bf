"""`record_mean`: the mean of values is noted in a record, at a place that a counter tells.

A training notes its losses so: the device counts its own steps, and it need not wait to read them.

Source: Harris, "Optimizing Parallel Reduction in CUDA" (2007).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem


@dataclass(frozen=True)
class RecordMean(Problem):
    """values[size], record[steps] and step[1], int32, to new_record[steps] and new_step[1].

    The mean of the values is the element ``step[0]`` of the new record, and the new step is one
    more.  Raises `InputError` for sizes below 1.
    """

    operation: ClassVar[str] = "record_mean"
    words: ClassVar[str] = "{size} values into a record of {steps}"

    size: int
    steps: int = field(default=1, metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(size=self.size, steps=self.steps)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """values, record and step, then new_record and new_step."""
        return (
            Array("values", (self.size,), operand=False),
            Array("record", (self.steps,), operand=False),
            Array("step", (1,), "int32"),
            Array("new_record", (self.steps,), role="output"),
            Array("new_step", (1,), "int32", role="output"),
        )

    @property
    def flops(self) -> int:
        """An addition for each value."""
        return self.size

    @property
    def reduction(self) -> int:
        """The values."""
        return self.size

    def shrunk(self) -> RecordMean:
        """A million values."""
        return dataclasses.replace(self, size=min(self.size, 2**20))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal values and a step of the record."""
        values, record, _ = super().random(seed)
        return values, record, self._step(seed)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Hard values; the step is ordinary."""
        return {
            kind: (values, record, self._step(seed))
            for kind, (values, record, _) in super().hard(seed).items()
        }

    def _step(self, seed: int) -> AnyArray:
        return np.random.default_rng([seed, 1]).integers(0, self.steps, 1).astype(np.int32)

    def reference(
        self, values: Float32, record: Float32, step: AnyArray
    ) -> tuple[Float64, AnyArray]:
        """The new record in float64, and the next step."""
        made = record.astype(np.float64)
        with np.errstate(invalid="ignore"):
            made[step[0]] = values.mean(dtype=np.float64)
        return made, step + 1

    def magnitude(
        self, values: Float32, record: Float32, step: AnyArray
    ) -> tuple[Float64, AnyArray]:
        """The mean of the magnitudes."""
        return self.reference(np.abs(values), np.abs(record), step)


NAMED = {
    "batch-64": RecordMean(64, 1000),
    "batch-8192": RecordMean(8192, 100),
}
LARGE = Climbed.of("batch-8192")
