"""`most_likely`: the class that a row of scores stands for.

The first of the largest, or the first NaN, as NumPy's argmax; of one score 1 where it is above one
half, else 0.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 5.1.1.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.problem import AnyArray, Array, Float32, Problem


@dataclass(frozen=True)
class MostLikely(Problem):
    """scores[images, classes] to labels[images], int64.  Raises `InputError` for sizes below 1."""

    operation: ClassVar[str] = "most_likely"
    words: ClassVar[str] = "{images} rows of {classes} scores"

    images: int
    classes: int

    def __post_init__(self) -> None:
        check_positive(images=self.images, classes=self.classes)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """scores and labels."""
        return (
            Array("scores", (self.images, self.classes), operand=False),
            Array("labels", (self.images,), "int64", role="output"),
        )

    @property
    def flops(self) -> int:
        """A comparison for each score."""
        return self.images * self.classes

    def shrunk(self) -> MostLikely:
        """A thousand rows."""
        return dataclasses.replace(self, images=min(self.images, 1000))

    def reference(self, scores: Float32) -> AnyArray:
        """labels."""
        if self.classes == 1:
            return (scores[:, 0] > 0.5).astype(np.int64)
        made: AnyArray = scores.argmax(axis=1).astype(np.int64)
        return made


NAMED = {
    "classes-10": MostLikely(100_000, 10),
    "classes-1000": MostLikely(4096, 1000),
}
LARGE = Climbed.of("classes-1000")
