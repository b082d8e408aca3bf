"""`nearest_places`: the argmax of max-pools' windows, each clamped to its window.

The row and the column of a place are clamped to those of its window, so that no kernel that follows
reads or writes outside of an array, whatever the places of a caller are.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.gradients.places import check_pool
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.problem import AnyArray, Array, Problem


@dataclass(frozen=True)
class NearestPlaces(Problem):
    """where[planes, rows, columns] to nearest of the same shape, both int32.

    A place is row * width + column in a plane of height x width that the pool goes over.  Raises
    `InputError` where the window does not fit, and for another pool than a maximum with nothing
    behind it.
    """

    operation: ClassVar[str] = "nearest_places"
    words: ClassVar[str] = "{planes} planes of {height} x {width}, {pool}"

    planes: int
    height: int
    width: int
    pool: Pool

    def __post_init__(self) -> None:
        check_positive(planes=self.planes, height=self.height, width=self.width)
        check_pool(self.pool)
        self.pool.output_size(self.height, self.width)

    @cached_property
    def output_size(self) -> tuple[int, int]:
        """Rows and columns of windows."""
        return self.pool.output_size(self.height, self.width)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """where and nearest."""
        shape = (self.planes, *self.output_size)
        return Array("where", shape, "int32"), Array("nearest", shape, "int32", role="output")

    @property
    def flops(self) -> int:
        """Two divisions and four comparisons for each place."""
        return 6 * self.arrays[0].size

    def reference(self, where: AnyArray) -> AnyArray:
        """The nearest places; a quotient is rounded to zero."""
        rows = np.trunc(where / np.float64(self.width)).astype(np.int64)
        columns = where - rows * self.width
        (high, wide), (down, right) = self.pool.window, self.pool.stride
        top = np.arange(self.output_size[0])[:, None] * down
        left = np.arange(self.output_size[1]) * right
        row = np.clip(rows, top, top + high - 1)
        column = np.clip(columns, left, left + wide - 1)
        return (row * self.width + column).astype(np.int32)


NAMED = {"lenet5": NearestPlaces(64 * 4, 80, 80, Pool.of("max", 2))}
LARGE = Climbed.of("lenet5")
