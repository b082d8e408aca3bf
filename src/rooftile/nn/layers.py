"""Layers of a network: what is fixed before the input's size and the batch are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from rooftile.errors import InputError, unknown
from rooftile.nn.initialisation import Init, check_init
from rooftile.ops import (
    ACTIVATIONS,
    ActivationName,
    Conv2d,
    FusedActivation,
    Linear,
    Pool,
    PoolSpec,
)
from rooftile.ops.checks import check_positive

Shape = tuple[int, ...]
"""Shape of one image or of one feature vector, without the batch."""

LayerActivation = Literal[ActivationName, "softmax"]
"""``softmax`` is over a fully connected layer's outputs; the others take each number by itself."""


def fused(activation: LayerActivation) -> FusedActivation:
    """The part of an activation that a layer's own operation computes: all of it or, by "none",
    nothing."""
    return cast(FusedActivation, activation if activation in get_args(FusedActivation) else "none")


def apart(activation: LayerActivation) -> LayerActivation:
    """The part of an activation that is left for an operation after the layer's own; "none":
    nothing."""
    return activation if fused(activation) == "none" else "none"


def _check_activation(activation: str, *refused: str) -> None:
    known = [name for name in get_args(LayerActivation) if name not in refused]
    if activation not in known:
        raise unknown("activation", activation, known)


def _check_init(init: Init | None) -> None:
    if init is not None:
        check_init(init)


@dataclass(frozen=True)
class ConvLayer:
    """A 2D convolution with bias, activation and pooling; the mask is square.

    ``pool`` is a `Pool`, or ``(kind, window[, stride[, activation]])`` as `rooftile.conv2d` takes
    it; ``init`` is how its first weights are drawn, see `rooftile.nn.Network.initialise`.  Raises
    `InputError` for sizes that no image could have.
    """

    name: str
    maps: int
    mask: int
    stride: int = 1
    padding: int = 0
    activation: LayerActivation = "none"
    pool: Pool | PoolSpec | None = None
    init: Init | None = None

    def __post_init__(self) -> None:
        check_positive(maps=self.maps, mask=self.mask, stride=self.stride)
        if not isinstance(self.padding, int) or self.padding < 0:
            raise InputError("padding", repr(self.padding), "an integer of at least 0")
        _check_activation(self.activation, "softmax")
        _check_init(self.init)
        object.__setattr__(self, "pool", Pool.parse(self.pool))
        if self.pool is not None and apart(self.activation) != "none":
            # The fused activations are monotone, so that a maximum may be taken before them.
            names = ", ".join(get_args(FusedActivation))
            expected = f"an activation that is fused with the pool: {names}"
            raise InputError("activation", repr(self.activation), expected)

    def __str__(self) -> str:
        words = [f"convolution {self.mask} x {self.mask}"]
        words += [f"stride {self.stride}"] * (self.stride > 1)
        words += [f"padding {self.padding}"] * (self.padding > 0)
        words += [self.activation] * (self.activation != "none")
        pool = Pool.parse(self.pool)
        words += [f"{pool.kind} pool {pool.window[0]} x {pool.window[1]}"] if pool else []
        return ", ".join(words)

    def problem(self, input_shape: Shape, batch: int) -> Conv2d:
        """The convolution over images of shape (channels, height, width). Raises `InputError` when
        the mask or the pooling window does not fit, and for an input that is not an image."""
        if len(input_shape) != 3:
            raise InputError(f"layer {self.name}", f"an input of shape {input_shape}", "images")
        channels, height, width = input_shape
        return Conv2d(
            batch,
            channels,
            height,
            width,
            self.maps,
            (self.mask, self.mask),
            (self.stride, self.stride),
            (self.padding, self.padding),
            fused(self.activation),
            Pool.parse(self.pool),
        )


@dataclass(frozen=True)
class LinearLayer:
    """A fully connected layer with bias and activation; images are flattened in C order.

    ``init`` is how its first weights are drawn, see `rooftile.nn.Network.initialise`.  Raises
    `InputError` for a number of outputs below 1.
    """

    name: str
    outputs: int
    activation: LayerActivation = "none"
    init: Init | None = None

    def __post_init__(self) -> None:
        check_positive(outputs=self.outputs)
        _check_activation(self.activation)
        _check_init(self.init)

    def __str__(self) -> str:
        after = f", {self.activation}" if self.activation != "none" else ""
        return f"fully connected{after}"

    def problem(self, input_shape: Shape, batch: int) -> Linear:
        """The product over inputs of any shape, flattened."""
        return Linear(batch, math.prod(input_shape), self.outputs, fused(self.activation))


Layer = ConvLayer | LinearLayer


def trained(layer: Layer, problem: Any) -> tuple[Any, LayerActivation]:
    """The problem of a layer whose gradient is wanted, and the activation after it.

    An activation whose derivative needs its input runs after the layer, whose result is that input.
    Raises `InputError` where a pool comes between.
    """
    left = apart(layer.activation)
    if left != "none" or ACTIVATIONS[problem.activation].needs == "y":
        return problem, left
    if getattr(problem, "pool", None) is not None:
        names = ", ".join(n for n in get_args(FusedActivation) if ACTIVATIONS[n].needs == "y")
        found = f"{layer.activation} before a pool, of layer {layer.name}"
        raise InputError("activation", found, f"for training one of {names}, or no pool")
    return replace(problem, activation="none"), layer.activation
