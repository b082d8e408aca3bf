"""`box_blur`: every pixel becomes the mean of the square window around it.

The window is clipped where it leaves the picture: only pixels inside count, in the sum and in the
divisor. The quotient is rounded down, so that every device gives the same bytes.

Source: PMPP, section 3.3.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.problem import AnyArray, Array, Problem

MOST_RADIUS = 1000
"""With it, the sum of a window fits into 31 bits."""
_SHRUNK = 2**9


@dataclass(frozen=True)
class BoxBlur(Problem):
    """blurred of image, both uint8[height, width], or [height, width, 3] with three channels.

    The window has 2 radius + 1 rows and columns.  Raises `InputError` for sizes below 1, a radius
    below 0 or above 1000, and another number of channels.
    """

    operation: ClassVar[str] = "box_blur"
    words: ClassVar[str] = (
        "a picture of {height} x {width} pixels of {channels} bytes, radius {radius}"
    )

    height: int
    width: int
    radius: int
    channels: int = field(default=1, metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(height=self.height, width=self.width)
        if type(self.radius) is not int or not 0 <= self.radius <= MOST_RADIUS:
            raise InputError("radius", repr(self.radius), f"an integer of 0 to {MOST_RADIUS}")
        if self.channels not in (1, 3):
            raise InputError("channels", self.channels, "1 or 3")

    @property
    def window(self) -> int:
        """Rows and columns of a whole window."""
        return 2 * self.radius + 1

    @property
    def columns(self) -> int:
        """Bytes of a row."""
        return self.width * self.channels

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """image and blurred, [height, width] or [height, width, channels]."""
        last = () if self.channels == 1 else (self.channels,)
        shape = (self.height, self.width, *last)
        return Array("image", shape, "uint8"), Array("blurred", shape, "uint8", role="output")

    @property
    def flops(self) -> int:
        """The additions of the definition, without what is clipped, and a division a byte."""
        rows, columns = self._lengths(self.height).sum(), self._lengths(self.width).sum()
        return self.channels * int(rows) * int(columns)

    def reference(self, image: AnyArray) -> AnyArray:
        """Sums and counts of the windows, exactly."""
        sums = image.reshape(self.height, self.width, -1).astype(np.int64)
        for axis in (0, 1):
            sums = self._along(sums, axis)
        counts = self._lengths(self.height)[:, None] * self._lengths(self.width)
        return (sums // counts[:, :, None]).reshape(image.shape)

    def _along(self, x: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
        """Sums over the clipped windows of an axis, as differences of the sums from its start."""
        size = x.shape[axis]
        before = np.concatenate([np.zeros_like(x.take([0], axis)), x.cumsum(axis)], axis)
        first, last = self._ends(size)
        made: NDArray[np.int64] = before.take(last, axis) - before.take(first, axis)
        return made

    def _ends(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first index of each window, and the one after its last."""
        at = np.arange(size)
        return np.maximum(at - self.radius, 0), np.minimum(at + self.radius + 1, size)

    def _lengths(self, size: int) -> NDArray[np.int64]:
        first, last = self._ends(size)
        return last - first

    def shrunk(self) -> BoxBlur:
        height, width = min(self.height, _SHRUNK), min(self.width, _SHRUNK)
        return dataclasses.replace(self, height=height, width=width)

    def neighbours(self) -> tuple[BoxBlur, ...]:
        return (
            dataclasses.replace(self, height=67, width=131),
            dataclasses.replace(self, height=3, width=2),
            dataclasses.replace(self, height=37, width=64, radius=self.radius + 1),
        )

    def smallest(self) -> tuple[BoxBlur, ...]:
        one = dataclasses.replace(self, height=1, width=1)
        return one, dataclasses.replace(one, width=41)


NAMED = {
    "picture-1024-r1": BoxBlur(1024, 1024, 1),
    "picture-1024-r5": BoxBlur(1024, 1024, 5),
    "picture-8192-r1": BoxBlur(8192, 8192, 1),
    "picture-8192-r5": BoxBlur(8192, 8192, 5),
    "colours-4096-r5": BoxBlur(4096, 4096, 5, 3),
    "picture-8192-r20": BoxBlur(8192, 8192, 20),
}
LARGE = Climbed.of("picture-8192-r5")
