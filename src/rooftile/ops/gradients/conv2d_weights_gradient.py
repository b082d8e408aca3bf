"""`conv2d_weights_gradient`: the gradient of a convolution's weights and bias.

``dweights[m,c,p,q] = sum_{n,i,j} dy[n,m,i,j] * x[n,c,i*s+p-P,j*s+q-P]`` and ``dbias[m] =
sum_{n,i,j} dy[n,m,i,j]``, where dy is the gradient of the convolution's outputs before activation
and pool. Elements beyond the image are zero. After a max-pool, dy has one gradient a window and
comes with their places (`rooftile.ops.gradients.places`). Where dy is the gradient after an
``activation`` of the layer, with y its value, it is multiplied by the derivative on the way.

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

from rooftile.errors import InputError
from rooftile.ops.activation import (
    FusedActivation,
    check_fused,
    derivative,
    derivative_terms,
    kept,
)
from rooftile.ops.checks import check_positive
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
class Conv2dWeightsGradient(Problem):
    """x[images, channels, height, width], dy[images, maps, rows, columns] to dweights and dbias.

    ``stride`` and ``padding`` are (vertical, horizontal). After ``pool``, a maximum, there is also
    where[images, maps, rows, columns]; after an ``activation``, and no pool then, also y, of dy's
    shape. Raises `InputError`.
    """

    operation: ClassVar[str] = "conv2d_weights_gradient"
    words: ClassVar[str] = (
        "{images} images of {channels} x {height} x {width}, {maps} masks of {mask}{pool?, |}{pool}"
    )
    counts: ClassVar[tuple[str, ...]] = ("channels", "maps")

    images: int
    channels: int
    height: int
    width: int
    maps: int
    mask: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    pool: Pool | None = None
    activation: FusedActivation = "none"

    def __post_init__(self) -> None:
        check_positive(images=self.images)
        check_pool(self.pool)
        check_fused(self.activation)
        if self.pool is not None and self.activation != "none":
            raise InputError("activation", repr(self.activation), "'none' after a pool")
        assert self.layer.flops

    @cached_property
    def layer(self) -> Conv2d:
        """The convolution whose gradient this is.  Raises `InputError` where there is none."""
        return Conv2d(
            self.images, self.channels, self.height, self.width, self.maps, self.mask,
            self.stride, self.padding, pool=self.pool,
        )  # fmt: skip

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, dy, where after a pool, y after an activation, dweights[maps, channels, *mask] and
        dbias[maps]."""
        shapes = self.layer.parameter_shapes
        # No product is made of y, so that no precision rounds it.
        y = Array("y", self.layer.output_shape, operand=False)
        return (
            Array("x", self.layer.input_shape),
            *gradient_arrays(self.layer, batched=False),
            *((y,) if self.activation != "none" else ()),
            Array("dweights", shapes["weights"], role="output"),
            Array("dbias", shapes["bias"], role="output"),
        )

    @property
    def case(self) -> str:
        """See `Problem.case`; few channels, and gradients with places, are other cases."""
        few = " few" if self.channels <= FEW_CHANNELS else ""
        return f"{super().case}{few}{' pooled' if self.pool is not None else ''}"

    @property
    def flops(self) -> int:
        return 2 * self.arrays[1].size * math.prod(self.mask) * self.channels

    @property
    def reduction(self) -> int:
        """The gradients of a map in all images."""
        return self.images * math.prod(self.layer.output_size)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The sum goes over gradients; a derivative rounds three times."""
        return Budget(self.reduction, roundings=4.0 if self.activation != "none" else 1.0)

    def sizes(self) -> dict[str, int]:
        return self.layer.sizes()

    def shrunk(self) -> Conv2dWeightsGradient:
        return dataclasses.replace(self, images=1)

    def values_of(self, arrays: Sequence[Array], given: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        """See `Problem.values_of`; of positions, places."""
        return super().values_of(arrays, values_at_places(self.layer, arrays, given))

    def as_stored(self, arrays: Sequence[Array], given: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        """See `Problem.as_stored`; of places, positions."""
        return super().as_stored(arrays, as_positions(self.layer, arrays, given))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal values; places in their windows; y as its activation makes it."""
        return self._given(super().random(seed), seed)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The hard inputs of every operation, with places in their windows, and gradients mostly
        zero."""
        x, dy, *others = self.random(seed)
        thin = np.where(np.random.default_rng(seed).integers(0, 7, dy.shape) == 0, dy, 0 * dy)
        found = {kind: self._given(arrays, seed) for kind, arrays in super().hard(seed).items()}
        return {**found, "zeros": (x, thin, *others)}

    def _given(self, arrays: Sequence[AnyArray], seed: int) -> tuple[AnyArray, ...]:
        """Arrays of which places and y are made what they may be."""
        x, dy, *others = arrays
        if self.pool is not None:
            return x, dy, random_places(self.layer, seed)
        return x, dy, *(kept(self.activation, y) for y in others)

    def reference(self, x: Float32, dy: Float32, *others: AnyArray) -> tuple[Float64, Float64]:
        """dweights and dbias in float64."""
        exact = dy.astype(np.float64)
        if self.activation == "none":
            return self._sums(x, exact, *others)
        with np.errstate(invalid="ignore", over="ignore"):
            return self._sums(x, exact * derivative(self.activation, others[0].astype(np.float64)))

    def magnitude(self, x: Float32, dy: Float32, *others: AnyArray) -> tuple[Float64, Float64]:
        """The same of |x| and |dy|, and of the magnitudes of the derivative's terms."""
        exact = np.abs(dy).astype(np.float64)
        if self.activation == "none":
            return self._sums(np.abs(x), exact, *others)
        with np.errstate(invalid="ignore", over="ignore"):
            return self._sums(np.abs(x), exact * derivative_terms(self.activation, others[0]))

    def _sums(
        self, x: Float32, exact: Float64, *where: NDArray[np.int32]
    ) -> tuple[Float64, Float64]:
        """Sums over gradients before the activation, for the weights and the bias."""
        (above, left) = self.padding
        padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (above, above), (left, left)))
        with np.errstate(invalid="ignore", over="ignore"):
            found = (
                _at_places(self, padded, exact, *where) if where else _of_all(self, padded, exact)
            )
            return found, exact.sum(axis=(0, 2, 3))


def _of_all(problem: Conv2dWeightsGradient, padded: Float64, dy: Float64) -> Float64:
    """dweights from gradients of all outputs."""
    (down, right), (rows, columns) = problem.stride, dy.shape[2:]
    dweights = np.empty(problem.layer.parameter_shapes["weights"])
    for p, q in np.ndindex(*problem.mask):
        seen = padded[:, :, p : p + down * rows : down, q : q + right * columns : right]
        seen = seen[:, :, :rows, :columns]
        dweights[:, :, p, q] = np.tensordot(dy, seen, axes=([0, 2, 3], [0, 2, 3]))
    return dweights


def _at_places(
    problem: Conv2dWeightsGradient, padded: Float64, dy: Float64, where: NDArray[np.int32]
) -> Float64:
    """dweights from gradients with their places."""
    first, width = seen_from(problem.layer, where), padded.shape[3]
    gradients, images = dy.reshape(first.shape), np.arange(len(dy))[:, None, None]
    dweights = np.empty(problem.layer.parameter_shapes["weights"])
    for c, p, q in np.ndindex(*dweights.shape[1:]):
        seen = padded[:, c].reshape(len(padded), -1)[images, first + p * width + q]
        dweights[:, c, p, q] = (gradients * seen).sum(axis=(0, 2))
    return dweights


NAMED = {
    "lenet-conv1": Conv2dWeightsGradient(64, 1, 86, 86, 4, (7, 7), pool=Pool.of("max", 2)),
    "lenet-conv2": Conv2dWeightsGradient(64, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4)),
    "mnist-conv": Conv2dWeightsGradient(64, 1, 28, 28, 8, (5, 5), padding=(2, 2)),
}
