"""Sums over shares of the images, and over the shares.

There are as many shares on every machine, so that rounding is the same.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import vector
from rooftile.ops import AnyArray, Float32
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient

_MOST = 8


def shares_of(problem: Conv2dWeightsGradient) -> int:
    """Number of shares of a problem's images."""
    return min(_MOST, problem.images)


def filled_lanes(length: int) -> float:
    """The share of its vectors that a row fills."""
    return length / (-(-length // vector.lanes()) * vector.lanes())


def share_arrays(problem: Conv2dWeightsGradient) -> tuple[Float32, Float32]:
    """Arrays for the gradients of each share: of the weights, and of the bias."""
    shares, kept = shares_of(problem), problem.layer.parameter_shapes["weights"]
    return np.empty((shares, *kept), np.float32), np.empty((shares, problem.maps), np.float32)


def add_shares(sums: Float32, totals: Float32, dweights: AnyArray, dbias: AnyArray) -> None:
    """Add up what the shares have of the weights' and the bias's gradients."""
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.reduce(sums, axis=0, out=dweights)
        np.add.reduce(totals, axis=0, out=dbias)
