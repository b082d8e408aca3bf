"""`standardise`: the numbers that pixels stand for, by a table of their 256 levels.

A table instead of a product: so its bits equal the host's preparation, which makes the table.

Source: LeCun, Bottou, Orr, Müller, "Efficient BackProp" (1998), section 4.3.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float32, Problem

LEVELS = 256


@dataclass(frozen=True)
class Standardise(Problem):
    """pixels[size], uint8, and values[tables, 256] to x[size].

    Pixel i has the table ``i // plane % tables``: its channel's, where a channel is ``plane``
    pixels.  Raises `InputError` for sizes below 1.
    """

    operation: ClassVar[str] = "standardise"
    words: ClassVar[str] = "{size} pixels by {tables} tables"
    counts: ClassVar[tuple[str, ...]] = ("tables",)

    size: int
    plane: int = field(default=1, metadata=SIZE)
    tables: int = field(default=1, metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(size=self.size, plane=self.plane, tables=self.tables)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """pixels, values and x."""
        return (
            Array("pixels", (self.size,), "uint8"),
            Array("values", (self.tables, LEVELS), operand=False),
            Array("x", (self.size,), role="output"),
        )

    @property
    def flops(self) -> int:
        """A look at the table for each pixel."""
        return self.size

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly: nothing is calculated."""
        return Exact()

    def shrunk(self) -> Standardise:
        """A million pixels."""
        return dataclasses.replace(self, size=min(self.size, 2**20))

    def reference(self, pixels: AnyArray, values: Float32) -> Float32:
        """x, an element of the table for each pixel."""
        made: Float32 = values[np.arange(self.size) // self.plane % self.tables, pixels]
        return made


NAMED = {
    "mnist-1000": Standardise(1000 * 784, 784),
    "rgb-224": Standardise(64 * 3 * 224 * 224, 224 * 224, 3),
}
LARGE = Climbed.of("rgb-224")
