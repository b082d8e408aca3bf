"""`conv2d`: batched 2D convolution with bias, activation and pooling fused.

``y = pool(activation(x * w + b))`` with ``*`` the cross-correlation of
deep-learning libraries (the mask is not flipped):
``z[n,m,i,j] = b[m] + sum_{c,p,q} x[n,c,i*s+p-P,j*s+q-P] * w[m,c,p,q]``.

What lies beyond the image, up to P rows and columns of it, is as ``boundary`` says
(`rooftile.ops.boundary`): zeros, or the nearest pixel; or z is zero, bias included,
where its mask leaves the image.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
chapters 7 and 16.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile import _blas
from rooftile.errors import InputError
from rooftile.ops.activation import FusedActivation, activation, check_fused, roundings
from rooftile.ops.boundary import Boundary, check_boundary
from rooftile.ops.climbed import Climbed
from rooftile.ops.fields import LATER
from rooftile.ops.judgement import Budget
from rooftile.ops.layers.layer import Layer
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import Array, Computed, Float32, Float64, check_computed, check_positive

BOUNDARIES: tuple[Boundary, ...] = ("zero", "replicate", "interior")
"""Without padding all positions are ``valid`` ones."""
_REFERENCE_BYTES = 16 * 2**20
"""Bytes of the largest unrolled block that a thread of the reference builds at a time."""

_FLOPS_OF_A_THREAD = 10**7
"""Least FLOPs of the reference for which a thread is started."""


@dataclass(frozen=True)
class Conv2d(Layer):
    """x[batch, channels, height, width], weights[maps, channels, *mask], bias[maps].

    ``stride`` and ``padding`` are (vertical, horizontal); padding is the same on both
    sides.  Raises `InputError` when the shapes do not fit, and for a weighted pool.
    """

    operation: ClassVar[str] = "conv2d"
    words: ClassVar[str] = (
        "{batch} images of {channels} x {height} x {width}, {maps} masks of {mask}, "
        "stride {stride}, {activation}{pool?, |}{pool}"
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
        )
        if min(self.padding) < 0:
            raise InputError("padding", self.padding, "no negative value")
        check_fused(self.activation)
        check_boundary(self.boundary, BOUNDARIES)
        check_computed(self.dtype)
        padded = (self.height + 2 * self.padding[0], self.width + 2 * self.padding[1])
        if self.mask[0] > padded[0] or self.mask[1] > padded[1]:
            raise InputError("weights", f"a mask of {self.mask}", f"at most the image, {padded}")
        if self.pool is not None:
            if self.pool.kind == "weighted":
                expected = "max, average or l2: pool2d has weights for its windows"
                raise InputError("pool", repr(self.pool.kind), expected)
            self.pool.output_size(*self.conv_size)

    @property
    def double(self) -> bool:
        """Of float64."""
        return self.dtype == "float64"

    @property
    def conv_size(self) -> tuple[int, int]:
        """Rows and columns of the convolution before pooling."""
        return (
            (self.height + 2 * self.padding[0] - self.mask[0]) // self.stride[0] + 1,
            (self.width + 2 * self.padding[1] - self.mask[1]) // self.stride[1] + 1,
        )

    @property
    def ghosts(self) -> Boundary:
        """What ghost cells are: zeros too where there is none."""
        return self.boundary if any(self.padding) else "zero"

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
                (self.height, self.width), self.padding, self.mask, self.stride, strict=True
            )
        )
        return rows, columns

    @property
    def conv_read(self) -> tuple[int, int]:
        """Rows and columns of the convolution that the pool reads (all, without a pool)."""
        return self.conv_size if self.pool is None else self.pool.inputs_read(*self.conv_size)

    @property
    def conv_span(self) -> tuple[int, int]:
        """Rows and columns from the first convolution output that the pool reads to the last.

        More than `conv_read` where the pool's windows leave gaps.
        """
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
        """weights[maps, channels, *mask] and bias[maps]"""
        return {"weights": (self.maps, self.channels, *self.mask), "bias": (self.maps,)}

    @property
    def output_shape(self) -> tuple[int, ...]:
        """[batch, maps, rows, columns]"""
        return (self.batch, self.maps, *self.output_size)

    @property
    def pools_first(self) -> bool:
        """Whether the pool may be taken before the activation: a maximum, of one that rises."""
        return self.pool is not None and self.pool.kind == "max" and self.why_not_first is None

    @property
    def why_not_first(self) -> str | None:
        """Why a kernel that takes the maximum of its sums cannot activate it; None where it can."""
        if self.pool is None or self.pool.kind != "max" or activation(self.activation).monotone:
            return None
        return f"it takes a pool's maximum before {self.activation}, which falls too"

    @property
    def affine(self) -> bool:
        """Without an activation, and without a pool or behind an average."""
        return self.activation == "none" and (
            self.pool is None or (self.pool.kind, self.pool.activation) == ("average", "none")
        )

    @property
    def reduction(self) -> int:
        """channels x mask area, and the bias."""
        return self.channels * self.mask[0] * self.mask[1] + 1

    @property
    def flops(self) -> int:
        """Two for each tap of each convolution output that the pool reads (all, without a pool)."""
        rows, columns = self.conv_read
        return 2 * self.batch * self.maps * rows * columns * (self.reduction - 1)

    @cached_property
    def intensity(self) -> float:
        """Arithmetic intensity in FLOP per byte."""
        return self.flops / self.bytes

    def judgement(self, output: Array, model: ErrorModel) -> Budget:
        """The budget counts taps, a fused sum's too; transforms spread errors over a plane."""
        pool, inside = self.pool, roundings(self.activation)
        summed = 0 if pool is None or pool.kind == "max" else math.prod(pool.window)
        if pool is not None and pool.activation != "none":
            inside += roundings(pool.activation)
        return Budget(self.reduction + summed, inside, plane=(2, 3))

    def sizes(self) -> dict[str, int]:
        """The rows and columns of the result."""
        rows, columns = self.output_size
        return {"rows": rows, "columns": columns}

    def shrunk(self) -> Conv2d:
        """One image and at most four maps and four channels."""
        return dataclasses.replace(
            self, batch=1, maps=min(4, self.maps), channels=min(4, self.channels)
        )

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        """The result in float64."""
        z = self._before(x, *parameters)
        y: Float64 = activation(self.activation).value(z).astype(np.float64, copy=False)
        return y if self.pool is None else self.pool.activated(self.pool.pooled(y))

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """Sum of |x||w| and |bias| behind each output; the window's largest under max-pool."""
        z = self._before(np.abs(x), *map(np.abs, parameters))
        return z if self.pool is None else self.pool.pooled(z)

    def _before(self, x: Float32, weights: Float32, bias: Float32) -> Float64:
        """The convolution with its bias."""
        z = _correlate(self, x, weights)
        z += bias[None, :, None, None]
        if self.ghosts == "interior":
            kept = np.zeros_like(z)
            kept[:, :, *self.inside] = z[:, :, *self.inside]
            z = kept
        return z


def _correlate(problem: Conv2d, x: Float32, weights: Float32) -> Float64:
    """The convolution alone, in float64: blocks of rows, unrolled and multiplied, over threads."""
    (vp, hp), (sh, sw) = problem.padding, problem.stride
    rows, columns = problem.conv_size
    around = ((0, 0), (0, 0), (vp, vp), (hp, hp))
    exact = x.astype(np.float64)
    if problem.boundary == "replicate":
        padded = np.pad(exact, around, "edge")
    else:
        padded = np.pad(exact, around)
    windows = np.lib.stride_tricks.sliding_window_view(padded, problem.mask, axis=(2, 3))
    windows = windows[:, :, ::sh, ::sw].transpose(0, 1, 4, 5, 2, 3)
    taps = weights.astype(np.float64).reshape(problem.maps, -1)
    height = min(rows, max(1, _REFERENCE_BYTES // (8 * columns * taps.shape[1])))
    blocks = [(n, top) for n in range(len(x)) for top in range(0, rows, height)]
    # A thread takes longer to start than a small part takes to compute.
    workers = min(_blas.threads(), len(blocks), 1 + problem.flops // _FLOPS_OF_A_THREAD)
    z = np.empty((len(x), problem.maps, rows * columns))

    def work(worker: int) -> None:
        # One array for all blocks: new memory costs several times what filling it does.
        unrolled = np.empty((problem.channels, *problem.mask, height, columns))
        for n, top in blocks[worker::workers]:
            used = unrolled[..., : rows - top, :]
            used[...] = windows[n, ..., top : top + height, :]
            part = z[n, :, top * columns : (top + height) * columns]
            _blas.multiply(taps, used.reshape(taps.shape[1], -1), part)

    _blas.share_out(work, workers)
    return z.reshape(len(x), problem.maps, rows, columns)


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
    "stride-1": (lambda batch: _strided(batch, 224, 3, 1), 1),
    "stride-2": (lambda batch: _strided(batch, 301, 3, 2), 2),
    "stride-3": (lambda batch: _strided(batch, 196, 3, 3), 3),
    "stride-4": (lambda batch: _strided(batch, 239, 3, 4), 4),
}
"""Named problems: how to build one for a batch, and the batch where none is given."""
TEXTBOOK = Climbed.of("lenet-conv1", batch=16)
