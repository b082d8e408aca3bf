"""`pool2d_winners`: the maximum of each window, and where it stands.

What a max-pool's forward pass keeps for its gradient.  ``where`` is row * width + column in the
image.  The first of equals wins, in the order of rows, and the first NaN of a window over
everything else.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.gradients.places import check_pool
from rooftile.ops.judgement import Exact, Judgement
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import Array, Float32, Problem


@dataclass(frozen=True)
class Pool2dWinners(Problem):
    """x[batch, channels, height, width] to y[batch, channels, rows, columns] and where.

    Raises `InputError` where the window does not fit, and for another pool than a maximum that
    nothing follows.
    """

    operation: ClassVar[str] = "pool2d_winners"
    words: ClassVar[str] = "{batch} images of {channels} x {height} x {width}, {pool}"
    counts: ClassVar[tuple[str, ...]] = ("channels",)

    batch: int
    channels: int
    height: int
    width: int
    pool: Pool

    def __post_init__(self) -> None:
        check_positive(
            batch=self.batch, channels=self.channels, height=self.height, width=self.width
        )
        check_pool(self.pool)
        self.pool.output_size(self.height, self.width)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, y and where."""
        image = (self.batch, self.channels)
        made = (*image, *self.output_size)
        return (
            Array("x", (*image, self.height, self.width), batched=True),
            Array("y", made, role="output", batched=True),
            Array("where", made, "int32", role="output", batched=True, places=True),
        )

    @property
    def output_size(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        return self.pool.output_size(self.height, self.width)

    @property
    def flops(self) -> int:
        """A comparison for each element of each window."""
        return self.arrays[1].size * self.pool.window[0] * self.pool.window[1]

    def moved(self) -> dict[str, int]:
        """The rows and columns that windows cover, read once; results written once."""
        rows, columns = self.pool.inputs_read(self.height, self.width)
        _, y, where = (array.nbytes for array in self.arrays)
        return {"x": 4 * self.batch * self.channels * rows * columns, "y": y, "where": where}

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly: a maximum is one of the elements."""
        return Exact()

    def with_batch(self, batch: int) -> Pool2dWinners:
        return dataclasses.replace(self, batch=batch)

    def sizes(self) -> dict[str, int]:
        rows, columns = self.output_size
        return {"rows": rows, "columns": columns}

    def shrunk(self) -> Pool2dWinners:
        return dataclasses.replace(self, batch=1, channels=1)

    def reference(self, x: Float32) -> tuple[Float32, NDArray[np.int32]]:
        """The elements as they are, and their places."""
        where = self.pool.places(x)
        flat = x.reshape(*x.shape[:2], -1)
        places = where.reshape(*x.shape[:2], -1)
        best: Float32 = np.take_along_axis(flat, places, axis=-1).reshape(where.shape)
        return best, where


NAMED = {
    "lenet-pool1": (lambda batch: Pool2dWinners(batch, 4, 80, 80, Pool.of("max", 2)), 64),
    "lenet-pool2": (lambda batch: Pool2dWinners(batch, 16, 34, 34, Pool.of("max", 4)), 64),
}
LARGE = Climbed.of("lenet-pool1", batch=1000)
