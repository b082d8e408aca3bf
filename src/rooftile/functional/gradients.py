"""Gradients of layers: what their inputs and parameters change in what follows them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import run, run_several
from rooftile.functional._integers import taken_places
from rooftile.ops import FusedActivation, Pool, PoolSpec
from rooftile.ops.activation import Differentiable, check_fused
from rooftile.ops.checks import pair
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken
from rooftile.runtime.calls.plain import plain

_INDICES = ("int32",)


@plain
def activation_gradient(
    y: Array,
    dy: Array,
    activation: Differentiable,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``dy * f'(x)`` where y = f(x); y and dy are float32 of any one shape.

    The derivative follows from y, but of ``gelu`` from x, which is given in y's place.  Raises
    `InputError` for ``sign``, which has none.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.3.
    """
    given = Arguments(y, "y")
    value, gradient = given.take("y", y, ANY), given.take("dy", dy, ANY)
    shape = tuple(value.shape)
    if tuple(gradient.shape) != shape:
        raise InputError("dy", f"shape {tuple(gradient.shape)}", f"y's shape {shape}")
    inputs = [_flat(value), _flat(gradient)]
    problem = ActivationGradient(inputs[0].shape[0], activation)
    return run(given, problem, inputs, {}, "ieee", strategy, device, out, shape)


@plain
def linear_gradient(
    x: Array,
    y: Array,
    dy: Array,
    weights: Array,
    *,
    activation: FusedActivation = "none",
    before: FusedActivation = "none",
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> tuple[Array, Array, Array]:
    """dx, dweights and dbias of ``y = activation(x weights^T + bias)``, from dy.

    x[batch, inputs], y and dy[batch, outputs], weights[outputs, inputs].  Where x is the value of
    another activation, ``before``, dx is the gradient before that one.  Of the activation ``gelu``
    its input stands in y's place, and as ``before`` it raises `InputError`.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.5, algorithm 6.4.
    """
    given = Arguments(x)
    inputs = [
        given.take("x", x, "batch, inputs"),
        given.take("y", y, "batch, outputs"),
        given.take("dy", dy, "batch, outputs"),
        given.take("weights", weights, "outputs, inputs"),
    ]
    outputs, width = inputs[3].shape
    problem = LinearGradient(inputs[0].shape[0], width, outputs, activation, before)
    dx, dweights, dbias = run_several(given, problem, inputs, strategy, device, (None,) * 3)
    return dx, dweights, dbias


@plain
def conv2d_weights_gradient(
    x: Array,
    dy: Array,
    mask: int | tuple[int, int],
    *,
    where: Array | None = None,
    y: Array | None = None,
    pool: PoolSpec | Pool | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    activation: FusedActivation = "none",
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> tuple[Array, Array]:
    """dweights[maps, channels, *mask] and dbias[maps] of a convolution, from dy.

    x[batch, channels, height, width], dy[batch, maps, rows, columns], the gradient before
    activation and pool; ``mask`` is (height, width), or one number for both. After a maximum,
    ``pool``, dy has one gradient a window, and ``where``, int32 of its shape, is the argmax of
    each: row * columns + column, as `pool2d_winners` finds them. A place outside of its window is
    an error in the CPU's memory; on a GPU, where the call would have to wait, the nearest place of
    the window stands for it. With an ``activation`` of the layer, and no pool, dy is the gradient
    after it, and its value y, of dy's shape, is needed; of ``gelu`` its input in y's place.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.5.
    """
    given = Arguments(x)
    images = given.take("x", x, "batch, channels, height, width")
    inputs = [images, *_gradients(given, dy, where, pool)]
    check_fused(activation)
    if (y is None) != (activation == "none"):
        expected = "y and activation, or neither"
        raise InputError("y", "None" if y is None else "an array", expected)
    batch, channels, height, width = images.shape
    problem = Conv2dWeightsGradient(
        batch, channels, height, width, inputs[1].shape[1], pair("mask", mask, 1),
        pair("stride", stride, 1), pair("padding", padding, 0), Pool.parse(pool), activation,
    )  # fmt: skip
    if where is not None:
        inputs[2] = taken_places(given, problem.layer, inputs[2])
    if y is not None:
        inputs.append(given.take("y", y, "batch, maps, rows, columns"))
    dweights, dbias = run_several(given, problem, inputs, strategy, device, (None, None))
    return dweights, dbias


@plain
def conv2d_input_gradient(
    dy: Array,
    weights: Array,
    size: tuple[int, int],
    *,
    where: Array | None = None,
    x: Array | None = None,
    pool: PoolSpec | Pool | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    before: FusedActivation = "none",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """dx[batch, channels, *size] of a convolution of images of that size, from dy.

    dy[batch, maps, rows, columns], weights[maps, channels, mask height, mask width]; ``where`` and
    ``pool`` as `conv2d_weights_gradient` takes them.  Where the layer's input x is the value of
    another activation, ``before``, dx is the gradient before that one, and x, of dx's shape, is
    needed; of ``gelu`` that one's input in x's place.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.5.
    """
    given = Arguments(dy, "dy")
    inputs = _gradients(given, dy, where, pool)
    masks = given.take("weights", weights, "maps, channels, mask height, mask width")
    maps, channels, *mask = masks.shape
    height, width = pair("size", size, 1)
    check_fused(before)
    if (x is None) != (before == "none"):
        expected = "x and before, or neither"
        raise InputError("x", "None" if x is None else "an array", expected)
    problem = Conv2dInputGradient(
        inputs[0].shape[0], channels, height, width, maps, (mask[0], mask[1]),
        pair("stride", stride, 1), pair("padding", padding, 0), Pool.parse(pool), before,
    )  # fmt: skip
    if where is not None:
        inputs[1] = taken_places(given, problem.layer, inputs[1])
    if x is not None:
        inputs.append(given.take("x", x, "batch, channels, height, width"))
    return run(given, problem, inputs, {"weights": masks}, "ieee", strategy, device, out)


@plain
def pool2d_winners(
    x: Array,
    window: int | tuple[int, int],
    *,
    stride: int | tuple[int, int] | None = None,
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> tuple[Array, Array]:
    """The maximum of each window of x[batch, channels, height, width], and where it stands.

    The second is int32 of the same shape, row * width + column in the image: of the first of
    equals, and of the first NaN over everything else.

    Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional
    Architectures", ICANN 2010.
    """
    given = Arguments(x)
    images = given.take("x", x, "batch, channels, height, width")
    batch, channels, height, width = images.shape
    problem = Pool2dWinners(batch, channels, height, width, Pool.of("max", window, stride))
    y, where = run_several(given, problem, [images], strategy, device, (None, None))
    return y, where


@plain
def pool2d_gradient(
    x: Array,
    dy: Array,
    kind: Literal["max", "average"],
    window: int | tuple[int, int],
    *,
    stride: int | tuple[int, int] | None = None,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """dx of a pool of x[batch, channels, height, width], from dy[batch, channels, rows, columns].

    Of a maximum only the element that won its window has any; of an average each has its share.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.3.
    """
    given = Arguments(x)
    inputs = [
        given.take("x", x, "batch, channels, height, width"),
        given.take("dy", dy, "batch, channels, rows, columns"),
    ]
    batch, channels, height, width = inputs[0].shape
    problem = Pool2dGradient(batch, channels, height, width, Pool.of(kind, window, stride))
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


def _gradients(given: Arguments[Any], dy: Any, where: Any, pool: Any) -> list[Taken]:
    """dy, and after a pool the places of its argmax. Raises `InputError` for one alone."""
    found = [given.take("dy", dy, "batch, maps, rows, columns")]
    if (where is None) != (pool is None):
        expected = "where and pool, or neither"
        raise InputError("where", "None" if where is None else "an array", expected)
    if where is not None:
        found.append(given.take("where", where, "batch, maps, rows, columns", dtypes=_INDICES))
    return found


def _flat(array: Taken) -> Taken:
    """The same elements in a row."""
    if isinstance(array, np.ndarray):
        return array.reshape(-1)
    return replace(array, shape=(math.prod(array.shape),))
