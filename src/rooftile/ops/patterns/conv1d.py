"""`conv1d`: convolution along one axis, of one signal or of batches with channels.

``out[n,m,i] = sum_{c,q} x[n,c,i+q-L] * weights[m,c,q]`` with ``L = (mask - 1) // 2`` (0 where only
valid outputs are made): cross-correlation, the mask is not flipped.

Source: PMPP, section 7.1.
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
from rooftile.ops.boundary import Boundary, before, check_boundary, extended, outputs
from rooftile.ops.checks import check_computed, check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.fields import LATER
from rooftile.ops.problem import AnyArray, Array, Computed, Float32, Float64, Problem

_CHUNK = 2**15
"""Outputs of a row that a thread of the reference makes at a time, in its caches."""
_SHRUNK = 2**18
"""Outputs of the problem that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Conv1d(Problem):
    """x[length] and weights[mask]; with ``rank`` 3 x[batch, channels, length] and
    weights[maps, channels, mask].

    Raises `InputError` where sizes do not fit.
    """

    operation: ClassVar[str] = "conv1d"
    words: ClassVar[str] = (
        "{batch} signals of {channels} x {length}, {maps} masks of {mask}, border {boundary}"
    )
    counts: ClassVar[tuple[str, ...]] = ("channels", "maps")

    length: int
    mask: int
    boundary: Boundary = "zero"
    batch: int = field(default=1, metadata=SIZE)
    channels: int = field(default=1, metadata=SIZE)
    maps: int = field(default=1, metadata=SIZE)
    rank: int = field(default=1, metadata=SIZE)
    dtype: Computed = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(
            length=self.length,
            mask=self.mask,
            batch=self.batch,
            channels=self.channels,
            maps=self.maps,
        )
        check_boundary(self.boundary)
        check_computed(self.dtype)
        if self.rank not in (1, 3):
            raise InputError("rank", self.rank, "1, or 3 for x[batch, channels, length]")
        if self.rank == 1 and (self.batch, self.channels, self.maps) != (1, 1, 1):
            raise InputError("rank", 1, "3 for several signals, channels or maps")
        if self.outputs < 1:
            raise InputError("mask", f"{self.mask} taps", f"at most x's length, {self.length}")

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    @property
    def before(self) -> int:
        """Taps before the element that has its output's index."""
        return before(self.mask, self.boundary)

    @property
    def outputs(self) -> int:
        """Outputs of a row."""
        return outputs(self.length, self.mask, self.boundary)

    @property
    def rows(self) -> int:
        """Rows of the result."""
        return self.batch * self.maps

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, weights, out."""
        x: tuple[int, ...] = (self.batch, self.channels, self.length)
        weights: tuple[int, ...] = (self.maps, self.channels, self.mask)
        out: tuple[int, ...] = (self.batch, self.maps, self.outputs)
        batched = self.rank == 3
        if not batched:
            x, weights, out = x[2:], weights[2:], out[2:]
        return (
            Array("x", x, self.dtype, batched=batched),
            Array("weights", weights, self.dtype, role="parameter"),
            Array("out", out, self.dtype, role="output", batched=batched),
        )

    @property
    def affine(self) -> bool:
        """Always."""
        return True

    @property
    def reduction(self) -> int:
        """channels x mask"""
        return self.channels * self.mask

    @property
    def flops(self) -> int:
        """Two for each tap of each output."""
        return 2 * self.rows * self.outputs * self.reduction

    def with_batch(self, batch: int) -> Conv1d:
        """The same problem for another batch.  Raises `InputError` where there is no batch axis."""
        if self.rank == 1:
            return super().with_batch(batch)
        return dataclasses.replace(self, batch=batch)

    def sizes(self) -> dict[str, int]:
        return {"outputs": self.outputs}

    def shrunk(self) -> Conv1d:
        length = min(self.length, self.mask + max(1, _SHRUNK // self.maps))
        return dataclasses.replace(self, length=length, batch=1)

    def random(self, seed: int) -> tuple[Float32, ...]:
        """Normal numbers, the weights divided by the root of their count."""
        generator = np.random.default_rng(seed)
        x, weights = self.given_arrays
        scale = x.numpy.type(math.sqrt(self.reduction))
        return (
            generator.standard_normal(x.shape, x.numpy),
            generator.standard_normal(weights.shape, x.numpy) / scale,
        )

    def reference(self, x: Float32, weights: Float32) -> Float64:
        if self.rank == 3:
            return self._correlated(x, weights)
        alone: Float64 = self._correlated(x[None, None], weights[None, None])[0, 0]
        return alone

    def magnitude(self, x: Float32, weights: Float32) -> Float64:
        """Sum of |x||w| of each output's terms."""
        return self.reference(np.abs(x), np.abs(weights))

    def _correlated(self, x: AnyArray, weights: AnyArray) -> Float64:
        """x[batch, channels, length] under weights[maps, channels, mask], over threads."""
        taps = weights.astype(np.float64)
        around = extended(x, (self.mask,), self.boundary)
        made = np.zeros((len(x), self.maps, self.outputs))
        chunks = [(n, at) for n in range(len(x)) for at in range(0, self.outputs, _CHUNK)]
        workers = min(_blas.threads(), len(chunks))

        # One factor each: a matrix product takes several times as long for it.
        times = _blas.multiply if self.channels > 1 else np.multiply

        def work(worker: int) -> None:
            for n, at in chunks[worker::workers]:
                to = made[n, :, at : at + _CHUNK]
                count, term = to.shape[1], np.empty_like(to)
                read = around[n, :, at : at + count + self.mask - 1].astype(np.float64)
                with np.errstate(all="ignore"):
                    for q in range(self.mask):
                        times(taps[:, :, q], read[:, q : q + count], term)
                        to += term

        _blas.share_out(work, workers)
        if self.boundary == "interior":
            made[..., : self.before] = 0.0
            made[..., max(0, self.length - self.mask // 2) :] = 0.0
        return made

    def neighbours(self) -> tuple[Conv1d, ...]:
        """Lengths of primes, one at which masks reach far beyond both ends, an even and an odd
        mask; few channels and maps."""
        few = dataclasses.replace(
            self,
            batch=1 if self.rank == 1 else 2,
            channels=min(self.channels, 3),
            maps=min(self.maps, 5),
        )
        sizes = [(917, self.mask), (4099, max(1, self.mask - 1)), (2053, self.mask + 1)]
        if self.boundary != "valid":
            sizes.append((max(1, self.mask // 3), self.mask))
        else:
            sizes = [(max(length, mask), mask) for length, mask in sizes]
        return tuple(dataclasses.replace(few, length=length, mask=mask) for length, mask in sizes)

    def smallest(self) -> tuple[Conv1d, ...]:
        one = dataclasses.replace(self, length=1, mask=1, batch=1, channels=1, maps=1)
        return (
            one,
            dataclasses.replace(one, length=67),
            dataclasses.replace(one, length=5, mask=5),
        )


NAMED = {
    **{f"signal-1e7-mask{k}": Conv1d(10**7, k) for k in (3, 5, 31)},
    **{f"signal-1e8-mask{k}": Conv1d(10**8, k) for k in (3, 5, 31, 63)},
    "signal-1e3-mask3": Conv1d(10**3, 3, "interior"),
    "signal-1e5-mask9": Conv1d(10**5, 9),
    "signal-1e9-mask3": Conv1d(10**9, 3, "interior"),
    "voices": (lambda batch: Conv1d(48000, 15, "zero", batch, 2, 8, 3), 16),
}
"""Named problems: a problem, or how to build one for a batch and the batch where none is given."""
LARGE = Climbed.of("signal-1e8-mask31")
