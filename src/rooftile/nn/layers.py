"""Layers of a network: what is fixed before the input's size and the batch are known."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rooftile.errors import InputError
from rooftile.ops import Conv2d, FusedActivation, Linear, Pool

Shape = tuple[int, ...]
"""Shape of one image or of one feature vector, without the batch."""


@dataclass(frozen=True)
class ConvLayer:
    """A 2D convolution with bias, activation and pooling; the mask is square."""

    name: str
    maps: int
    mask: int
    stride: int = 1
    padding: int = 0
    activation: FusedActivation = "none"
    pool: Pool | None = None

    def problem(self, input_shape: Shape, batch: int) -> Conv2d:
        """The convolution over images of shape (channels, height, width).

        Raises `InputError` when the mask or the pooling window does not fit, and for an
        input that is not an image.
        """
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
            self.activation,
            self.pool,
        )


@dataclass(frozen=True)
class LinearLayer:
    """A fully connected layer with bias and activation; images are flattened in C order."""

    name: str
    outputs: int
    activation: FusedActivation = "none"

    def problem(self, input_shape: Shape, batch: int) -> Linear:
        """The product over inputs of any shape, flattened."""
        return Linear(batch, math.prod(input_shape), self.outputs, self.activation)


Layer = ConvLayer | LinearLayer
