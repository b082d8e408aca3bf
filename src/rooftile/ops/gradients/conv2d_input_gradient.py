"""`conv2d_input_gradient`: the gradient of a convolution's input.

``dx[n,c,i*s+p-P,j*s+q-P] += dy[n,m,i,j] * w[m,c,p,q]`` for all m, i, j, p and q, where dy is the
gradient of the convolution's outputs before activation and pool. After a max-pool, dy has one
gradient a window and comes with their places (`rooftile.ops.gradients.places`). Where the input x
is the value of an activation, ``before``, dx is the gradient before that one: times its derivative,
which follows from x.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.5.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooftile.ops.activation import (
    FusedActivation,
    check_fused,
    derivative,
    derivative_terms,
    kept,
)
from rooftile.ops.climbed import Climbed
from rooftile.ops.gradients.places import (
    as_positions,
    check_pool,
    gradient_arrays,
    random_places,
    seen_from,
    values_at_places,
)
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.layers.conv2d import FEW_CHANNELS, Conv2d
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem


@dataclass(frozen=True)
class Conv2dInputGradient(Problem):
    """dy[batch, maps, rows, columns] and weights[maps, channels, *mask] to dx.

    dx is [batch, channels, height, width]. ``stride`` and ``padding`` are (vertical, horizontal).
    After ``pool``, a maximum, there is also where[batch, maps, rows, columns]; where ``before`` is
    an activation, also x[batch, channels, height, width]. Raises `InputError`.
    """

    operation: ClassVar[str] = "conv2d_input_gradient"
    words: ClassVar[str] = (
        "{batch} images of {channels} x {height} x {width}, {maps} masks of {mask}{pool?, |}{pool}"
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
    pool: Pool | None = None
    before: FusedActivation = "none"

    def __post_init__(self) -> None:
        check_pool(self.pool)
        check_fused(self.before)
        assert self.layer.flops

    @cached_property
    def layer(self) -> Conv2d:
        """The convolution whose gradient this is.  Raises `InputError` where there is none."""
        return Conv2d(
            self.batch, self.channels, self.height, self.width, self.maps, self.mask,
            self.stride, self.padding, pool=self.pool,
        )  # fmt: skip

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """dy, where after a pool, x after an activation, weights and dx."""
        shape = self.layer.parameter_shapes["weights"]
        # No product is made of x, so that no precision rounds it.
        x = Array("x", self.layer.input_shape, batched=True, operand=False)
        return (
            *gradient_arrays(self.layer, batched=True),
            *((x,) if self.before != "none" else ()),
            Array("weights", shape, role="parameter"),
            Array("dx", self.layer.input_shape, role="output", batched=True),
        )

    def with_batch(self, batch: int) -> Conv2dInputGradient:
        return dataclasses.replace(self, batch=batch)

    @property
    def affine(self) -> bool:
        """Without a pool."""
        return self.pool is None

    @property
    def reduction(self) -> int:
        """The outputs that one pixel is part of."""
        down, right = self.stride
        return self.maps * math.ceil(self.mask[0] / down) * math.ceil(self.mask[1] / right)

    @property
    def case(self) -> str:
        """See `Problem.case`; few channels, and gradients with places, are other cases."""
        few = " few" if self.channels <= FEW_CHANNELS else ""
        return f"{super().case}{few}{' pooled' if self.pool is not None else ''}"

    @property
    def flops(self) -> int:
        """Two for each tap of each gradient."""
        return 2 * self.arrays[0].size * math.prod(self.mask) * self.channels

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The sum goes over outputs; a derivative rounds three times."""
        return Budget(self.reduction, roundings=4.0 if self.before != "none" else 1.0)

    def sizes(self) -> dict[str, int]:
        return self.layer.sizes()

    def shrunk(self) -> Conv2dInputGradient:
        return dataclasses.replace(self, batch=1)

    def values_of(self, arrays: Sequence[Array], given: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        """See `Problem.values_of`; of positions, places."""
        return super().values_of(arrays, values_at_places(self.layer, arrays, given))

    def as_stored(self, arrays: Sequence[Array], given: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        """See `Problem.as_stored`; of places, positions."""
        return super().as_stored(arrays, as_positions(self.layer, arrays, given))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal values; places in their windows; x as its activation makes it."""
        return self._given(super().random(seed), seed)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The hard inputs of every operation, with places in their windows, and gradients mostly
        zero."""
        dy, *others = self.random(seed)
        thin = np.where(np.random.default_rng(seed).integers(0, 7, dy.shape) == 0, dy, 0 * dy)
        found = {kind: self._given(arrays, seed) for kind, arrays in super().hard(seed).items()}
        return {**found, "zeros": (thin, *others)}

    def _given(self, arrays: Sequence[AnyArray], seed: int) -> tuple[AnyArray, ...]:
        """Arrays of which places and x are made what they may be."""
        named = dict(zip((a.name for a in self.arrays if a.role != "output"), arrays, strict=True))
        if self.pool is not None:
            named["where"] = random_places(self.layer, seed)
        if self.before != "none":
            named["x"] = kept(self.before, named["x"])
        return tuple(named.values())

    def reference(self, dy: Float32, *others: AnyArray) -> Float64:
        """dx in float64 of the arrays that are not outputs, in their order."""
        dx = self._sums(dy, *others)
        if self.before == "none":
            return dx
        with np.errstate(invalid="ignore", over="ignore"):
            return dx * derivative(self.before, others[-2].astype(np.float64))

    def magnitude(self, dy: Float32, *others: AnyArray) -> Float64:
        """The same of |dy| and |weights|, and of the magnitudes of the derivative's terms."""
        *between, weights = others
        dx = self._sums(np.abs(dy), *between, np.abs(weights))
        if self.before in ("none", "relu"):
            # An infinite x, whose slope is one, is given as zero here.
            return dx
        with np.errstate(invalid="ignore", over="ignore"):
            return dx * derivative_terms(self.before, between[-1])

    def _sums(self, dy: Float32, *others: AnyArray) -> Float64:
        """The sum of gradients at each pixel."""
        exact, taps = dy.astype(np.float64), others[-1].astype(np.float64)
        (above, left) = self.padding
        height, width = self.height + 2 * above, self.width + 2 * left
        dx = np.zeros((len(dy), self.channels, height, width))
        with np.errstate(invalid="ignore", over="ignore"):
            if self.pool is not None:
                _add_at_places(self, dx, exact, taps, others[0])
            else:
                _add_all(self, dx, exact, taps)
        return dx[:, :, above : above + self.height, left : left + self.width]


def _add_all(problem: Conv2dInputGradient, dx: Float64, dy: Float64, weights: Float64) -> None:
    """Add the gradients of all outputs."""
    (down, right), (rows, columns) = problem.stride, dy.shape[2:]
    for p, q in np.ndindex(*problem.mask):
        brought = np.tensordot(weights[:, :, p, q], dy, axes=([0], [1])).swapaxes(0, 1)
        met = dx[:, :, p : p + down * rows : down, q : q + right * columns : right]
        met[:, :, :rows, :columns] += brought


def _add_at_places(
    problem: Conv2dInputGradient,
    dx: Float64,
    dy: Float64,
    weights: Float64,
    where: NDArray[np.int32],
) -> None:
    first, width = seen_from(problem.layer, where), dx.shape[3]
    gradients, images = dy.reshape(first.shape), np.arange(len(dy))[:, None, None]
    for c, p, q in np.ndindex(*weights.shape[1:]):
        brought = gradients * weights[None, :, c, p, q, None]
        np.add.at(dx[:, c].reshape(len(dx), -1), (images, first + p * width + q), brought)


NAMED = {
    "lenet-conv2": (
        lambda batch: Conv2dInputGradient(batch, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4)),
        64,
    ),
    "mnist-conv": (
        lambda batch: Conv2dInputGradient(batch, 1, 28, 28, 8, (5, 5), padding=(2, 2)),
        64,
    ),
}
LARGE = Climbed.of("lenet-conv2", batch=1000)
