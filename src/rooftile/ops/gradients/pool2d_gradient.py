"""`pool2d_gradient`: what each element under a pool changes in what follows it.

Of a maximum only the element that won its window does: dx is zero but for the winners, each of
which gets dy of all the windows that it won.  The first of equals wins, in the order of rows, and
the first NaN of a window over everything else.  Of an average each element gets its share.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.3; Scherer, Müller,
Behnke, "Evaluation of Pooling Operations in Convolutional Architectures", ICANN 2010.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.problem import Array, Float32, Float64, Problem


@dataclass(frozen=True)
class Pool2dGradient(Problem):
    """x[batch, channels, height, width] and dy[batch, channels, rows, columns] to dx of x's shape.

    Raises `InputError` where the window does not fit, and for other pools than a maximum or an
    average that nothing follows.
    """

    operation: ClassVar[str] = "pool2d_gradient"
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
        if self.pool.kind not in ("max", "average") or self.pool.activation != "none":
            found = f"{self.pool.kind} followed by {self.pool.activation}"
            raise InputError("pool", found, "a maximum or an average that nothing follows")
        self.pool.output_size(self.height, self.width)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, dy and dx; what is compared is not rounded."""
        image = (self.batch, self.channels, self.height, self.width)
        return (
            Array("x", image, batched=True, operand=False),
            Array("dy", (*image[:2], *self.output_size), batched=True),
            Array("dx", image, role="output", batched=True),
        )

    @property
    def output_size(self) -> tuple[int, int]:
        """Rows and columns of the pool's result."""
        return self.pool.output_size(self.height, self.width)

    @property
    def flops(self) -> int:
        """A comparison or an addition for each element of each window."""
        rows, columns = self.output_size
        return self.batch * self.channels * rows * columns * math.prod(self.pool.window)

    @property
    def reduction(self) -> int:
        """The windows that an element is part of."""
        (high, wide), (down, right) = self.pool.window, self.pool.stride
        return math.ceil(high / down) * math.ceil(wide / right)

    def moved(self) -> dict[str, int]:
        """An average does not look at x."""
        x, dy, dx = (array.nbytes for array in self.arrays)
        return {"x": x if self.pool.kind == "max" else 0, "dy": dy, "dx": dx}

    def with_batch(self, batch: int) -> Pool2dGradient:
        return dataclasses.replace(self, batch=batch)

    def sizes(self) -> dict[str, int]:
        rows, columns = self.output_size
        return {"rows": rows, "columns": columns}

    def shrunk(self) -> Pool2dGradient:
        return dataclasses.replace(self, batch=1, channels=1)

    def reference(self, x: Float32, dy: Float32) -> Float64:
        """dx in float64."""
        return self._spread(dy, self._winners(x) if self.pool.kind == "max" else None)

    def magnitude(self, x: Float32, dy: Float32) -> Float64:
        """Sum of |dy| over the windows that an element is part of, whether it is their argmax or
        not: the argmax may depend on numbers that are not finite, which have no magnitude."""
        return self._spread(np.abs(dy), None)

    def _spread(self, dy: Float32, places: NDArray[np.intp] | None) -> Float64:
        """dy of each window, or a share of it for an average, at these places or everywhere."""
        dx = np.zeros((*dy.shape[:2], self.height, self.width))
        share = 1 if self.pool.kind == "max" else math.prod(self.pool.window)
        (down, right), (rows, columns) = self.pool.stride, self.output_size
        with np.errstate(invalid="ignore", over="ignore"):
            for k, (a, b) in enumerate(np.ndindex(*self.pool.window)):
                brought = dy.astype(np.float64) / share
                if places is not None:
                    brought = np.where(places == k, brought, 0.0)
                met = dx[:, :, a : a + down * rows : down, b : b + right * columns : right]
                met[:, :, :rows, :columns] += brought
        return dx

    def _winners(self, x: Float32) -> NDArray[np.intp]:
        """The argmax of each window, counted by rows."""
        (down, right), (rows, columns) = self.pool.stride, self.output_size
        windows = np.lib.stride_tricks.sliding_window_view(x, self.pool.window, axis=(-2, -1))
        windows = windows[..., ::down, ::right, :, :][..., :rows, :columns, :, :]
        # argmax takes the first of equals, and the first NaN.
        won: NDArray[np.intp] = windows.reshape(*windows.shape[:4], -1).argmax(axis=-1)
        return won


NAMED = {
    "lenet-pool1": (lambda batch: Pool2dGradient(batch, 4, 80, 80, Pool.of("max", 2)), 64),
    "lenet-pool2": (lambda batch: Pool2dGradient(batch, 16, 34, 34, Pool.of("max", 4)), 64),
    "average": (lambda batch: Pool2dGradient(batch, 6, 28, 28, Pool.of("average", 2)), 64),
}
LARGE = Climbed.of("lenet-pool1", batch=1000)
