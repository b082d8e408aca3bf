"""`equalize`: a picture whose gray levels are spread evenly, by its histogram.

One table of 256 values is made from the gray levels and applied to every byte:

1. ``gray = floor(255 (0.21 (r / 255) + 0.71 (g / 255) + 0.07 (b / 255)) + 0.5)``, in float64 and
   in this order; a picture of one channel is gray itself;
2. ``cdf[v]`` is the number of pixels with ``gray <= v``, and ``least`` the smallest that is not 0;
3. ``table[v] = clamp(floor(255 (cdf[v] - least) / (pixels - least)), 0, 255)``.

The weights' sum is 0.99, as in the course that this rule comes from.  A picture of a single gray
level stays as it is.

Source: Gonzalez, Woods, "Digital Image Processing", 4th ed., section 3.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.problem import AnyArray, Array, Problem

LEVELS = 256
WEIGHTS = (0.21, 0.71, 0.07)
_SHRUNK = 2**10


def gray_levels(image: AnyArray) -> AnyArray:
    """The gray level of every pixel of image[..., 3]: step 1 of the rule."""
    red, green, blue = (image[..., colour].astype(np.float64) / 255 for colour in range(3))
    weighted = WEIGHTS[0] * red + WEIGHTS[1] * green + WEIGHTS[2] * blue
    levels: AnyArray = np.floor(255 * weighted + 0.5).astype(np.int64)
    return levels


def table_of(counts: AnyArray) -> AnyArray:
    """The table, uint8[256], from how many pixels have each gray level: steps 2 and 3."""
    cdf = np.cumsum(counts)
    least, pixels = int(cdf[cdf > 0][0]), int(cdf[-1])
    if least == pixels:
        return np.arange(LEVELS, dtype=np.uint8)
    spread = 255 * (cdf - least) // (pixels - least)
    table: AnyArray = np.clip(spread, 0, 255).astype(np.uint8)
    return table


@dataclass(frozen=True)
class Equalize(Problem):
    """y of image, both uint8[height, width, 3], or uint8[height, width] with ``channels`` 1.

    Raises `InputError` for sizes below 1 and another number of channels.
    """

    operation: ClassVar[str] = "equalize"
    words: ClassVar[str] = "a picture of {height} x {width} pixels of {channels} bytes"

    height: int
    width: int
    channels: int = field(default=3, metadata=SIZE)

    def __post_init__(self) -> None:
        check_positive(height=self.height, width=self.width)
        if self.channels not in (1, 3):
            raise InputError("channels", self.channels, "1 or 3")

    @property
    def pixels(self) -> int:
        """Pixels of the picture."""
        return self.height * self.width

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """image and y."""
        sizes = (self.height, self.width)
        shape = sizes if self.channels == 1 else (*sizes, self.channels)
        return (
            Array("image", shape, "uint8"),
            Array("y", shape, "uint8", role="output"),
        )

    @property
    def flops(self) -> int:
        """Of colours three multiplications and two additions; an addition to a bin."""
        return (6 if self.channels == 3 else 1) * self.pixels

    def reference(self, image: AnyArray) -> AnyArray:
        """Every byte by the table."""
        levels = gray_levels(image) if self.channels == 3 else image
        return table_of(np.bincount(levels.reshape(-1), minlength=LEVELS))[image]

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Pixels of similar brightness, as in a dull picture."""
        generator = np.random.default_rng(seed)
        middle, width = generator.uniform(60, 190), generator.uniform(5, 40)
        bright = generator.normal(middle, width, (self.height, self.width, 1))
        tint = generator.normal(0, width / 3, (self.height, self.width, self.channels))
        image = np.clip(bright + tint, 0, 255).astype(np.uint8)
        return (image.reshape(self.arrays[0].shape),)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Every colour alike, one level, two levels, and colours half-way between two levels."""
        generator = np.random.default_rng(seed)
        shape = (self.height, self.width, self.channels)
        anything = generator.integers(0, 256, shape, np.uint8)
        two = np.where(generator.random(shape[:2]) < 0.5, 3, 250).astype(np.uint8)
        single = np.full(shape, 77, np.uint8)
        found = {"anything": anything, "one level": single, "two levels": _all_alike(two, shape)}
        if self.channels == 3:
            found["half-way"] = _half_way(anything)
        return {name: (image.reshape(self.arrays[0].shape),) for name, image in found.items()}

    def shrunk(self) -> Equalize:
        height, width = min(self.height, _SHRUNK), min(self.width, _SHRUNK)
        return dataclasses.replace(self, height=height, width=width)

    def neighbours(self) -> tuple[Equalize, ...]:
        sizes = ((67, 131), (5, 7))
        return tuple(dataclasses.replace(self, height=h, width=w) for h, w in sizes)

    def smallest(self) -> tuple[Equalize, ...]:
        sizes = ((1, 1), (1, 37))
        return tuple(dataclasses.replace(self, height=h, width=w) for h, w in sizes)


def _all_alike(levels: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Every channel of a pixel the same."""
    return np.ascontiguousarray(np.broadcast_to(levels[..., None], shape))


def _half_way(image: AnyArray) -> AnyArray:
    """Pixels whose weighted sum is half-way between two levels, where a blue makes it so."""
    found = image.copy()
    red, green = (image[..., colour].astype(np.int64) for colour in range(2))
    # 7 * 43 is 1 modulo 100.
    blue = (50 - 21 * red - 71 * green) * 43 % 100
    found[..., 2] = blue + 100 * (image[..., 2] % 2)
    return found


NAMED = {
    "picture-600x800": Equalize(600, 800),
    "picture-1024": Equalize(1024, 1024),
    "picture-8192": Equalize(8192, 8192),
    "gray-8192": Equalize(8192, 8192, 1),
}
LARGE = Climbed.of("picture-8192")
