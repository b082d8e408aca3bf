"""`conv3d`: 3D convolution of a volume with a mask, or of batches of volumes with weights.

``y[n,m,z,i,j] = sum_{c,d,p,q} x[n,c,z+d-D,i+p-P,j+q-Q] * w[m,c,d,p,q]``: cross-correlation, as in
deep-learning libraries (the mask is not flipped).

Source: PMPP, chapter 7.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import ClassVar, Literal, get_args

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_computed, check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.fields import LATER
from rooftile.ops.patterns.volumes import (
    Boundary,
    Size3,
    before,
    check_boundary,
    padded,
    weighted_sums,
)
from rooftile.ops.problem import AnyArray, Array, Computed, Float32, Float64, Problem

Form = Literal["batch", "volume"]
"""``volume``: one volume and one mask, whose arrays have three axes."""

_SHRUNK = 2**18
"""Elements of the volume that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Conv3d(Problem):
    """x[batch, channels, depth, height, width] and weights[maps, channels, *mask] to
    out[batch, maps, planes, rows, columns]; in the form ``volume`` x[depth, height, width] and
    weights[*mask] to out[planes, rows, columns].

    With the boundary ``zero`` the tap ``(size - 1) // 2`` of each axis is on the output. Raises
    `InputError` for another boundary or form, and where no output is left.
    """

    operation: ClassVar[str] = "conv3d"
    words: ClassVar[str] = (
        "{batch} volumes of {channels} x {depth} x {height} x {width}, {maps} masks of "
        "{mask}, border {boundary}"
    )
    steps: ClassVar[int] = 1
    star: ClassVar[bool] = False
    counts: ClassVar[tuple[str, ...]] = ("channels", "maps")

    depth: int
    height: int
    width: int
    mask: Size3
    boundary: Boundary = "zero"
    batch: int = field(default=1, metadata=SIZE)
    channels: int = field(default=1, metadata=SIZE)
    maps: int = field(default=1, metadata=SIZE)
    form: Form = "volume"
    dtype: Computed = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(
            depth=self.depth,
            height=self.height,
            width=self.width,
            batch=self.batch,
            channels=self.channels,
            maps=self.maps,
        )
        if len(self.mask) != 3:
            raise InputError("mask", self.mask, "planes, rows and columns")
        check_positive(**{f"axis {i} of mask": size for i, size in enumerate(self.mask)})
        check_boundary(self.boundary)
        check_computed(self.dtype)
        if self.form not in get_args(Form):
            raise unknown("form", self.form, get_args(Form))
        if self.form == "volume" and (self.batch, self.channels, self.maps) != (1, 1, 1):
            raise InputError("form", repr(self.form), "batch, for several volumes or maps")
        if min(self.output_size) < 1:
            raise InputError("mask", f"the size {self.mask}", f"at most x's, {self.size}")

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    @property
    def images(self) -> int:
        """The batch."""
        return self.batch

    @property
    def size(self) -> Size3:
        """Depth, height and width of the input."""
        return self.depth, self.height, self.width

    @property
    def output_size(self) -> Size3:
        """Planes, rows and columns of the result."""
        if self.boundary == "zero":
            return self.size
        depth, height, width = (n - m + 1 for n, m in zip(self.size, self.mask, strict=True))
        return depth, height, width

    @property
    def crop(self) -> Size3:
        """Planes, rows and columns that the result has lost before its first."""
        return before(self.mask) if self.boundary == "valid" else (0, 0, 0)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, weights and out."""
        if self.form == "volume":
            return (
                Array("x", self.size, self.dtype),
                Array("weights", self.mask, self.dtype, role="parameter"),
                Array("out", self.output_size, self.dtype, role="output"),
            )
        x, out = (self.batch, self.channels, *self.size), (self.batch, self.maps, *self.output_size)
        weights = (self.maps, self.channels, *self.mask)
        return (
            Array("x", x, self.dtype, batched=True),
            Array("weights", weights, self.dtype, role="parameter"),
            Array("out", out, self.dtype, role="output", batched=True),
        )

    @property
    def affine(self) -> bool:
        """Always."""
        return True

    @property
    def reduction(self) -> int:
        """Channels x taps of a mask."""
        return self.channels * math.prod(self.mask)

    @property
    def flops(self) -> int:
        """Two for each tap of each output."""
        return 2 * self.batch * self.maps * math.prod(self.output_size) * self.reduction

    def dense(self, weights: AnyArray) -> AnyArray:
        return weights.reshape(self.maps, self.channels, *self.mask)

    def sizes(self) -> dict[str, int]:
        return dict(zip(("planes", "rows", "columns"), self.output_size, strict=True))

    def with_batch(self, batch: int) -> Conv3d:
        """The same problem for ``batch`` volumes. Raises `InputError` in the form ``volume``."""
        if self.form == "volume":
            return super().with_batch(batch)
        return dataclasses.replace(self, batch=batch)

    def shrunk(self) -> Conv3d:
        depth = max(self.mask[0], _SHRUNK // (self.height * self.width))
        return dataclasses.replace(
            self,
            depth=min(self.depth, depth),
            batch=1,
            channels=min(4, self.channels),
            maps=min(4, self.maps),
        )

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        (weights,) = parameters
        volumes = x.reshape(-1, self.channels, *self.size)
        taps = product(range(self.channels), *map(range, self.mask))
        sums = weighted_sums(
            padded(volumes, self.mask, self.boundary),
            [(c, d, p, q) for c, d, p, q in taps],
            weights.reshape(self.maps, -1),
            self.output_size,
        )
        return sums.reshape(self.output_size) if self.form == "volume" else sums

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """Sum of |x||w| of each output's terms."""
        return self.reference(np.abs(x), *map(np.abs, parameters))

    def neighbours(self) -> tuple[Conv3d, ...]:
        found = []
        few = {} if self.form == "volume" else {"batch": 2, "channels": 3, "maps": 2}
        for size in ((7, 11, 13), (1, 5, 67), (5, 19, 137)):
            depth, height, width = (max(n, m) for n, m in zip(size, self.mask, strict=True))
            found.append(
                dataclasses.replace(self, depth=depth, height=height, width=width, **few)  # type: ignore[arg-type]
            )
        return tuple(one for one in found if one.flops <= 10**8)

    def smallest(self) -> tuple[Conv3d, ...]:
        one = dataclasses.replace(
            self, depth=1, height=1, width=1, mask=(1, 1, 1), batch=1, channels=1, maps=1
        )
        if self.boundary == "valid":
            return (one,)
        return one, dataclasses.replace(one, mask=self.mask)


NAMED = {
    "cube-256-mask-3": Conv3d(256, 256, 256, (3, 3, 3)),
    "cube-512-mask-3": Conv3d(512, 512, 512, (3, 3, 3)),
    "cube-512-mask-5": Conv3d(512, 512, 512, (5, 5, 5)),
    "cube-256-mask-5-valid": Conv3d(256, 256, 256, (5, 5, 5), "valid"),
    "cube-64": Conv3d(64, 64, 64, (3, 3, 3)),
    "video": Conv3d(16, 112, 112, (3, 3, 3), batch=2, channels=3, maps=8, form="batch"),
}
TEXTBOOK = Climbed.of("cube-64")
