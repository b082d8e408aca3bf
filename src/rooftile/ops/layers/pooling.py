"""Pooling windows and their float64 reference, shared by `conv2d` and `pool2d`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError, check_word
from rooftile.ops.activation import FusedActivation, activation, check_fused
from rooftile.ops.checks import pair, pair_from_text
from rooftile.ops.fields import LATER
from rooftile.ops.problem import AnyArray, Float64

PoolKind = Literal["max", "average", "l2", "weighted"]
Sizes = int | tuple[int, int]
PoolSpec = tuple[str, Sizes] | tuple[str, Sizes, Sizes] | tuple[str, Sizes, Sizes | None, str]


@dataclass(frozen=True)
class Pool:
    """A pooling window without padding; outputs that do not fit are dropped (floor).

    ``max`` propagates NaN (IEEE 754-2019 ``maximum``); ``average`` divides by the
    window's area; ``l2`` is the root of the sum of squares; ``weighted`` is the sum of the
    elements times weights of their own, which are the same in every window.  ``activation``
    comes after all of these.
    """

    kind: PoolKind
    window: tuple[int, int]
    stride: tuple[int, int]
    activation: FusedActivation = field(default="none", metadata=LATER)

    def in_words(self) -> str:
        """Its kind and its window."""
        activation = "" if self.activation == "none" else f" and {self.activation}"
        return f"{self.kind} pool of {self.window[0]} x {self.window[1]}{activation}"

    @classmethod
    def of(
        cls, kind: str, window: Sizes, stride: Sizes | None = None, activation: str = "none"
    ) -> Pool:
        """Build a pool; ``stride`` defaults to the window.  Raises `InputError`."""
        check_word("pool", kind, get_args(PoolKind))
        w = pair("pool window", window, 1)
        s = w if stride is None else pair("pool stride", stride, 1)
        check_fused(activation)
        return cls(cast(PoolKind, kind), w, s, cast(FusedActivation, activation))

    @classmethod
    def parse(cls, spec: PoolSpec | Pool | None) -> Pool | None:
        """A pool from ``(kind, window[, stride[, activation]])``."""
        if spec is None or isinstance(spec, Pool):
            return spec
        if not isinstance(spec, tuple | list) or len(spec) not in (2, 3, 4):
            raise InputError("pool", repr(spec), "(kind, window[, stride[, activation]])")
        given: list[Any] = [*spec]
        return cls.of(*given)

    @classmethod
    def from_text(cls, text: str) -> Pool:
        """From ``kind:window[:stride[:activation]]``, as ``average:3x3:2``. Raises `InputError`."""
        kind, *sizes = text.split(":")
        after = sizes.pop() if len(sizes) == 3 else "none"
        if not 1 <= len(sizes) <= 2:
            raise InputError("shape pool", repr(text), "kind:window[:stride[:activation]]")
        window, *strides = (pair_from_text("pool", size) for size in sizes)
        return cls.of(kind, window, strides[0] if strides else None, after)

    def to_text(self) -> str:
        """The text that `from_text` takes."""
        sizes = (f"{rows}x{columns}" for rows, columns in (self.window, self.stride))
        return ":".join((self.kind, *sizes, self.activation))

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the result over an image of this size."""
        (ph, pw), (sh, sw) = self.window, self.stride
        if ph > height or pw > width:
            raise InputError("pool window", self.window, f"at most the image, {(height, width)}")
        return (height - ph) // sh + 1, (width - pw) // sw + 1

    def inputs_read(self, height: int, width: int) -> tuple[int, int]:
        """Numbers of distinct rows and columns of the image that the windows cover."""
        rows, columns = self.output_size(height, width)

        def covered(outputs: int, window: int, stride: int) -> int:
            return outputs * window if stride >= window else (outputs - 1) * stride + window

        return (
            covered(rows, self.window[0], self.stride[0]),
            covered(columns, self.window[1], self.stride[1]),
        )

    def pooled(self, image: Float64, weights: Float64 | None = None) -> Float64:
        """Pool the last two axes in float64, without the activation. ``weights`` make a weighted
        sum, [window's rows, window's columns]."""
        rows, columns = self.output_size(*image.shape[-2:])
        (ph, pw), (sh, sw) = self.window, self.stride
        windows = np.lib.stride_tricks.sliding_window_view(image, (ph, pw), axis=(-2, -1))
        windows = windows[..., ::sh, ::sw, :, :][..., :rows, :columns, :, :]
        both = (-2, -1)
        result: Float64
        if self.kind == "max":
            result = windows.max(axis=both)
        elif self.kind == "average":
            result = windows.mean(axis=both)
        elif self.kind == "l2":
            result = np.sqrt(np.square(windows).sum(axis=both))
        else:
            assert weights is not None
            result = (windows * weights).sum(axis=both)
        return result

    def places(self, image: AnyArray) -> NDArray[np.int32]:
        """Row * columns + column of the largest element of each window of the last two axes: the
        first of equals, and the first NaN over everything else."""
        rows, columns = self.output_size(*image.shape[-2:])
        (_, wide), (down, right) = self.window, self.stride
        windows = np.lib.stride_tricks.sliding_window_view(image, self.window, axis=(-2, -1))
        windows = windows[..., ::down, ::right, :, :][..., :rows, :columns, :, :]
        # argmax takes the first of equals, and the first NaN.
        won = windows.reshape(*windows.shape[:-2], -1).argmax(axis=-1)
        i = np.arange(rows)[:, None] * down + won // wide
        j = np.arange(columns) * right + won % wide
        found: NDArray[np.int32] = (i * image.shape[-1] + j).astype(np.int32)
        return found

    def activated(self, values: Float64) -> Float64:
        """The activation of pooled values."""
        return activation(self.activation).value(values).astype(np.float64, copy=False)
