"""`conv2d`: batched 2D convolution with bias, activation and pooling fused.

``y = pool(activation(x * w + b))`` with ``*`` the cross-correlation of deep-learning libraries (the
mask is not flipped): ``z[n,m,i,j] = b[m] + sum_{c,p,q} x[n,c,i*s+p*d-P,j*s+q*d-P] * w[m,c,p,q]``
with stride s, dilation d and padding P.  With groups, maps and channels are cut into as many equal
parts, and a map's sum is over the channels of its own part; as many groups as channels are a
depthwise convolution.

Up to P rows and columns beyond the image are as ``boundary`` says (`rooftile.ops.boundary`): zeros,
or the nearest pixel; or z is zero, bias included, where its mask leaves the image.

Source: PMPP, chapters 7 and 16.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.activation import FusedActivation, activation, check_fused, roundings
from rooftile.ops.boundary import Boundary, check_boundary
from rooftile.ops.checks import check_computed, check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.fields import LATER
from rooftile.ops.judgement import Budget, Judgement, Properties
from rooftile.ops.layers.argmax import read_places, wrong_places
from rooftile.ops.layers.correlation import correlated
from rooftile.ops.layers.layer import Layer
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Computed, Float32, Float64

BOUNDARIES: tuple[Boundary, ...] = ("zero", "replicate", "interior")
"""Without padding all positions are ``valid`` ones."""


FEW_CHANNELS = 8
"""Of an image; more fill the terms of tensor cores."""


@dataclass(frozen=True)
class Conv2d(Layer):
    """x[batch, channels, height, width], weights[maps, channels / groups, *mask], bias[maps].

    ``stride``, ``padding`` and ``dilation`` are (vertical, horizontal); padding is the same on both
    sides unless ``padding_after`` says what is below and to the right; a dilation of d leaves d - 1
    pixels between the taps of a mask.  ``returns`` is ``("y",)``, or ``("y", "argmax")`` of a
    max-pool: then a second output has the place of each window's largest sum, row * columns +
    column of the convolution, int32.  Raises `InputError` when the shapes do not fit, for a
    weighted pool and for other ``returns``.
    """

    operation: ClassVar[str] = "conv2d"
    words: ClassVar[str] = (
        "{batch} images of {channels} x {height} x {width}, {maps} masks of {mask}, "
        "stride {stride}{apart?, |}{apart}, {activation}{pool?, |}{pool}"
        "{has_argmax?, and its argmax|}"
    )
    counts: ClassVar[tuple[str, ...]] = ("channels", "maps")

    batch: int
    channels: int
    height: int
    width: int
    maps: int
    mask: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    activation: FusedActivation = "none"
    pool: Pool | None = None
    boundary: Boundary = field(default="zero", metadata=LATER)
    dtype: Computed = field(default="float32", metadata=LATER)
    returns: tuple[str, ...] = field(default=("y",), metadata=LATER)
    groups: int = field(default=1, metadata=LATER)
    dilation: tuple[int, int] = field(default=(1, 1), metadata=LATER)
    padding_after: tuple[int, int] | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(
            batch=self.batch,
            channels=self.channels,
            height=self.height,
            width=self.width,
            maps=self.maps,
            mask_height=self.mask[0],
            mask_width=self.mask[1],
            stride=self.stride[0],
            stride_width=self.stride[1],
            groups=self.groups,
            dilation=self.dilation[0],
            dilation_width=self.dilation[1],
        )
        if self.padding_after == self.padding:
            object.__setattr__(self, "padding_after", None)
        if min(*self.padding, *self.after) < 0:
            raise InputError("padding", (self.padding, self.after), "no negative value")
        check_fused(self.activation)
        check_boundary(self.boundary, BOUNDARIES)
        check_computed(self.dtype)
        for name, count in (("channels", self.channels), ("maps", self.maps)):
            if count % self.groups:
                expected = f"a number that divides the {count} {name}"
                raise InputError("groups", self.groups, expected)
        padded = self.padded
        if self.extent[0] > padded[0] or self.extent[1] > padded[1]:
            found = f"a mask of {self.mask}" + (
                "" if self.dilation == (1, 1) else f" that reaches over {self.extent}"
            )
            raise InputError("weights", found, f"at most the image, {padded}")
        if self.pool is not None:
            if self.pool.kind == "weighted":
                expected = "max, average or l2: pool2d has weights for its windows"
                raise InputError("pool", repr(self.pool.kind), expected)
            self.pool.output_size(*self.conv_size)
        self._check_returns()

    def _check_returns(self) -> None:
        if self.returns not in (("y",), ("y", "argmax")):
            raise InputError("returns", repr(self.returns), "('y',) or ('y', 'argmax')")
        if self.has_argmax:
            pool = self.pool
            if pool is None or pool.kind != "max" or pool.activation != "none":
                found = f"{self.returns} with {'no pool' if pool is None else pool.in_words()}"
                raise InputError("returns", found, "('y',), or a max-pool that nothing follows")
            if self.why_not_first:
                expected = f"('y',), or an activation that rises: {self.activation} falls too"
                raise InputError("returns", repr(self.returns), expected)

    @property
    def has_argmax(self) -> bool:
        """True if the argmax of each window is an output."""
        return len(self.returns) > 1

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, weights, bias, out and, where they are asked for, places."""
        if not self.has_argmax:
            return super().arrays
        shape = self.output_shape
        argmax = Array("argmax", shape, "int32", role="output", batched=True, places=True)
        return (*super().arrays, argmax)

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    @property
    def after(self) -> tuple[int, int]:
        """Rows of padding below the image, and columns to its right."""
        return self.padding if self.padding_after is None else self.padding_after

    @property
    def is_padded(self) -> bool:
        """True with padding on any side."""
        return any(self.padding) or any(self.after)

    @property
    def padded(self) -> tuple[int, int]:
        """Rows and columns of the image with its padding."""
        (above, left), (below, right) = self.padding, self.after
        return self.height + above + below, self.width + left + right

    @property
    def apart(self) -> str:
        """Groups and dilation in words; empty without them."""
        groups = f"{self.groups} groups" if self.groups > 1 else ""
        wide = "dilation {} x {}".format(*self.dilation) if self.dilation != (1, 1) else ""
        return ", ".join(filter(None, (groups, wide)))

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns from a mask's first tap to its last."""
        rows, columns = self.mask
        return (rows - 1) * self.dilation[0] + 1, (columns - 1) * self.dilation[1] + 1

    @property
    def conv_size(self) -> tuple[int, int]:
        """Rows and columns of the convolution before pooling."""
        return (
            (self.padded[0] - self.extent[0]) // self.stride[0] + 1,
            (self.padded[1] - self.extent[1]) // self.stride[1] + 1,
        )

    @property
    def ghosts(self) -> Boundary:
        """The values of ghost cells: zeros too where there is none."""
        return self.boundary if self.is_padded else "zero"

    def described_features(self) -> dict[str, str]:
        """See `Problem.described_features`; without padding no boundary is met."""
        found = super().described_features()
        if self.ghosts == "zero":
            found.pop(f"boundary:{self.boundary}", None)
        return found

    @property
    def inside(self) -> tuple[slice, slice]:
        """Rows and columns of the convolution whose masks meet no ghost cell."""
        rows, columns = (
            slice(-(-before // step), max(0, (size + before - taps) // step + 1))
            for size, before, taps, step in zip(
                (self.height, self.width), self.padding, self.extent, self.stride, strict=True
            )
        )
        return rows, columns

    @property
    def conv_read(self) -> tuple[int, int]:
        """Rows and columns of the convolution that the pool reads (all, without a pool)."""
        return self.conv_size if self.pool is None else self.pool.inputs_read(*self.conv_size)

    @property
    def conv_span(self) -> tuple[int, int]:
        """Rows and columns from the first convolution output that the pool reads to the last. More
        than `conv_read` where the pool's windows leave gaps."""
        if self.pool is None:
            return self.conv_size
        (rows, columns), pool = self.output_size, self.pool
        return (
            (rows - 1) * pool.stride[0] + pool.window[0],
            (columns - 1) * pool.stride[1] + pool.window[1],
        )

    @property
    def output_size(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        return self.conv_size if self.pool is None else self.pool.output_size(*self.conv_size)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """[batch, channels, height, width]"""
        return (self.batch, self.channels, self.height, self.width)

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """weights[maps, channels / groups, *mask] and bias[maps]"""
        filters = (self.maps, self.channels // self.groups, *self.mask)
        return {"weights": filters, "bias": (self.maps,)}

    @property
    def output_shape(self) -> tuple[int, ...]:
        """[batch, maps, rows, columns]"""
        return (self.batch, self.maps, *self.output_size)

    @property
    def pools_first(self) -> bool:
        """True if the pool may be taken before the activation: a maximum, of a monotone one."""
        return self.pool is not None and self.pool.kind == "max" and self.why_not_first is None

    @property
    def why_not_first(self) -> str | None:
        """Why a kernel that takes the maximum of its sums cannot activate it; None where it can."""
        if self.pool is None or self.pool.kind != "max" or activation(self.activation).monotone:
            return None
        return f"it takes a pool's maximum before {self.activation}, which falls too"

    @property
    def affine(self) -> bool:
        """Without an activation, and without a pool or after an average."""
        return self.activation == "none" and (
            self.pool is None or (self.pool.kind, self.pool.activation) == ("average", "none")
        )

    @property
    def reduction(self) -> int:
        """channels of a group x mask area, and the bias."""
        return self.channels // self.groups * self.mask[0] * self.mask[1] + 1

    @property
    def case(self) -> str:
        """See `Problem.case`; few channels, and results that are pooled, are other cases."""
        few = " few" if self.channels <= FEW_CHANNELS else ""
        return f"{super().case}{few}{' pooled' if self.pool is not None else ''}"

    @property
    def flops(self) -> int:
        """Two for each tap of each convolution output that the pool reads (all, without a pool)."""
        rows, columns = self.conv_read
        return 2 * self.batch * self.maps * rows * columns * (self.reduction - 1)

    @cached_property
    def intensity(self) -> float:
        """Arithmetic intensity in FLOP per byte."""
        return self.flops / self.bytes

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The budget counts taps, a fused sum's too; transforms spread errors over a plane.  The
        sum at a place must be the window's largest, within the budgets of both."""
        if output.places:
            assert self.pool is not None
            cuts, allowance = self.activation == "relu", math.sqrt(self.reduction)
            return Properties(
                partial(wrong_places, self.pool, cuts, self._before, allowance, model)
            )
        pool, inside = self.pool, roundings(self.activation)
        summed = 0 if pool is None or pool.kind == "max" else math.prod(pool.window)
        if pool is not None and pool.activation != "none":
            inside += roundings(pool.activation)
        return Budget(self.reduction + summed, inside, plane=(2, 3))

    def sizes(self) -> dict[str, int]:
        rows, columns = self.output_size
        return {"rows": rows, "columns": columns}

    def shrunk(self) -> Conv2d:
        return self.resized(batch=1, maps=min(4, self.maps), channels=min(4, self.channels))

    def resized(self, **sizes: int) -> Conv2d:
        """With groups, the sizes of channels and maps are of a group, of which there are at most
        three; a group of one channel, or of one map, keeps one."""
        if self.groups > 1:
            sizes["groups"] = groups = min(self.groups, 3)
            for name in {"channels", "maps"} & set(sizes):
                own = getattr(self, name) // self.groups
                sizes[name] = groups * (1 if own == 1 else min(own + 1, sizes[name]))
        return dataclasses.replace(self, **sizes)  # type: ignore[arg-type]

    def values_of(self, arrays: Sequence[Array], given: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        """See `Problem.values_of`; of positions, places, which must be `CUT` where relu cut."""
        found = list(given)
        for k, array in enumerate(arrays):
            if array.places and array.dtype == "uint8":
                assert self.pool is not None
                cuts, y = self.activation == "relu", given[k - 1]
                found[k] = read_places(self.pool, self.conv_size, cuts, given[k], y)
        return super().values_of(arrays, found)

    def reference(self, x: Float32, *parameters: Float32) -> Any:
        """The result in float64, and the places of the windows' largest sums if asked for."""
        z = self._before(x, *parameters)
        y: Float64 = activation(self.activation).value(z).astype(np.float64, copy=False)
        if self.pool is None:
            return y
        pooled = self.pool.activated(self.pool.pooled(y))
        return (pooled, self.pool.places(z)) if self.has_argmax else pooled

    def magnitude(self, x: Float32, *parameters: Float32) -> Any:
        """Sum of |x||w| and |bias| of each output's terms; the window's largest under max-pool."""
        z = self._before(np.abs(x), *map(np.abs, parameters))
        pooled = z if self.pool is None else self.pool.pooled(z)
        return (pooled, pooled) if self.has_argmax else pooled

    def _before(self, x: Float32, weights: Float32, bias: Float32) -> Float64:
        """The convolution with its bias."""
        z = correlated(
            x,
            weights,
            self.stride,
            self.padding,
            self.after,
            self.boundary,
            self.dilation,
            self.groups,
        )
        z += bias[None, :, None, None]
        if self.ghosts == "interior":
            kept = np.zeros_like(z)
            kept[:, :, *self.inside] = z[:, :, *self.inside]
            z = kept
        return z


def _lenet_conv1(batch: int) -> Conv2d:
    return Conv2d(batch, 1, 86, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))


def _lenet_conv2(batch: int) -> Conv2d:
    return Conv2d(batch, 4, 40, 40, 16, (7, 7), activation="relu", pool=Pool.of("max", 4))


def _mnist_conv(batch: int) -> Conv2d:
    return Conv2d(batch, 1, 28, 28, 8, (5, 5), padding=(2, 2), activation="relu")


def _lab_conv5(batch: int) -> Conv2d:
    return Conv2d(
        batch, 256, 224, 224, 256, (5, 5), padding=(2, 2), activation="relu", pool=Pool.of("max", 2)
    )


def _strided(batch: int, size: int, mask: int, stride: int) -> Conv2d:
    return Conv2d(batch, 3, size, size, 3, (mask, mask), stride=(stride, stride))


NAMED = {
    "lenet-conv1": (_lenet_conv1, 1000),
    "lenet-conv2": (_lenet_conv2, 1000),
    "mnist-conv": (_mnist_conv, 1000),
    "lab-conv5": (_lab_conv5, 1),
    "lenet-conv1-argmax": (
        lambda batch: dataclasses.replace(_lenet_conv1(batch), returns=("y", "argmax")),
        1000,
    ),
    "stride-1": (lambda batch: _strided(batch, 224, 3, 1), 1),
    "stride-2": (lambda batch: _strided(batch, 301, 3, 2), 2),
    "stride-3": (lambda batch: _strided(batch, 196, 3, 3), 3),
    "stride-4": (lambda batch: _strided(batch, 239, 3, 4), 4),
}
TEXTBOOK = Climbed.of("lenet-conv1", batch=16)
