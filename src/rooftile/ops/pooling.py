"""Pooling windows and their float64 reference, shared by `conv2d` and `pool2d`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.problem import Float64, pair, pair_from_text

PoolKind = Literal["max", "average"]
PoolSpec = (
    tuple[str, int | tuple[int, int]] | tuple[str, int | tuple[int, int], int | tuple[int, int]]
)


@dataclass(frozen=True)
class Pool:
    """A pooling window without padding; outputs that do not fit are dropped (floor).

    ``max`` propagates NaN (IEEE 754-2019 ``maximum``); ``average`` divides by the
    window's area.
    """

    kind: PoolKind
    window: tuple[int, int]
    stride: tuple[int, int]

    @classmethod
    def of(
        cls, kind: str, window: int | tuple[int, int], stride: int | tuple[int, int] | None = None
    ) -> Pool:
        """Build a pool; ``stride`` defaults to the window.  Raises `InputError`."""
        if kind not in get_args(PoolKind):
            raise InputError("pool", repr(kind), f"one of {list(get_args(PoolKind))}")
        w = pair("pool window", window, 1)
        s = w if stride is None else pair("pool stride", stride, 1)
        return cls("max" if kind == "max" else "average", w, s)

    @classmethod
    def parse(cls, spec: PoolSpec | Pool | None) -> Pool | None:
        """A pool from ``(kind, window)`` or ``(kind, window, stride)``."""
        if spec is None or isinstance(spec, Pool):
            return spec
        if not isinstance(spec, tuple | list) or len(spec) not in (2, 3):
            raise InputError("pool", repr(spec), '("max" or "average", window[, stride])')
        return cls.of(*spec)

    @classmethod
    def from_text(cls, text: str) -> Pool:
        """From ``kind:window[:stride]``, as ``average:3x3:2``.  Raises `InputError`."""
        kind, *sizes = text.split(":")
        if not 1 <= len(sizes) <= 2:
            raise InputError("shape pool", repr(text), "kind:window or kind:window:stride")
        return cls.of(kind, *(pair_from_text("pool", size) for size in sizes))

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the result over an image of this size."""
        (ph, pw), (sh, sw) = self.window, self.stride
        if ph > height or pw > width:
            raise InputError("pool window", self.window, f"at most the image, {(height, width)}")
        return (height - ph) // sh + 1, (width - pw) // sw + 1

    def inputs_read(self, height: int, width: int) -> tuple[int, int]:
        """How many distinct rows and columns of the image the windows cover."""
        rows, columns = self.output_size(height, width)

        def covered(outputs: int, window: int, stride: int) -> int:
            return outputs * window if stride >= window else (outputs - 1) * stride + window

        return (
            covered(rows, self.window[0], self.stride[0]),
            covered(columns, self.window[1], self.stride[1]),
        )

    def reference(self, image: Float64) -> Float64:
        """Pool the last two axes in float64."""
        rows, columns = self.output_size(*image.shape[-2:])
        (ph, pw), (sh, sw) = self.window, self.stride
        windows = np.lib.stride_tricks.sliding_window_view(image, (ph, pw), axis=(-2, -1))
        windows = windows[..., ::sh, ::sw, :, :][..., :rows, :columns, :, :]
        result: Float64 = (
            windows.max(axis=(-2, -1)) if self.kind == "max" else windows.mean(axis=(-2, -1))
        )
        return result
