"""`loops`: one weight after the other, on one thread. Source: PMPP, section 16.2."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.fused import ACTIVATION_CODES, derivative
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def gradient(dy, value, at, code):  # type: ignore[no-untyped-def]
    """One before the activation; ``value`` is read where ``code`` is an activation's."""
    if code:
        return dy[at] * derivative(code, value[at])
    return dy[at]


@native
def one_row(x, dy, where, value, plane, row, y, z, sizes):  # type: ignore[no-untyped-def]
    """A row of gradients times the pixels that its outputs saw at tap y, z; ``where`` is read where
    sizes[13] says that there is one, and ``value`` where sizes[15] is the code of an activation.

    Ghost cells take part, as zeros: an infinite gradient on one gives NaN.
    """
    height, width, columns, across = sizes[2], sizes[3], sizes[12], sizes[14]
    total = np.float32(0.0)
    for j in range(columns):
        i, k = row % sizes[11], j
        if sizes[13]:
            i, k = where[row * columns + j] // across, where[row * columns + j] % across
        r, s = i * sizes[7] + y, k * sizes[8] + z
        seen = np.float32(0.0)
        if 0 <= r < height and 0 <= s < width:
            seen = x[plane + r * width + s]
        total += gradient(dy, value, row * columns + j, sizes[15]) * seen
    return total


@native
def each_weight(x, dy, where, value, dweights, dbias, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are maps.  Rows are summed by themselves: long sums round worse."""
    images, channels, plane, maps = sizes[0], sizes[1], sizes[2] * sizes[3], sizes[4]
    tall, wide, rows, columns = sizes[5], sizes[6], sizes[11], sizes[12]
    for m in range(begin, end):
        for tap in range(channels * tall * wide):
            c, p, q = tap // (tall * wide), tap // wide % tall, tap % wide
            total = np.float32(0.0)
            for n in range(images):
                at = (n * channels + c) * plane
                for i in range(rows):
                    row, y, z = (n * maps + m) * rows + i, p - sizes[9], q - sizes[10]
                    total += one_row(x, dy, where, value, at, row, y, z, sizes)
            dweights[m * channels * tall * wide + tap] = total
        total = np.float32(0.0)
        for n in range(images):
            for i in range((n * maps + m) * rows, (n * maps + m + 1) * rows):
                line = np.float32(0.0)
                for j in range(columns):
                    line += gradient(dy, value, i * columns + j, sizes[15])
                total += line
        dbias[m] = total


# Nothing is read of what stands for the arrays that a problem has not.
@native
def of_all(x, dy, dweights, dbias, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Gradients of all outputs."""
    each_weight(x, dy, sizes, dy, dweights, dbias, sizes, begin, end)


@native
def of_winners(x, dy, where, dweights, dbias, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Gradients with their places."""
    each_weight(x, dy, where, dy, dweights, dbias, sizes, begin, end)


@native
def of_all_behind(x, dy, value, dweights, dbias, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Gradients of all outputs, behind an activation."""
    each_weight(x, dy, sizes, value, dweights, dbias, sizes, begin, end)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "conv2d_weights_gradient"
    name = "loops"
    parallel = False
    summary = "one weight after the other, on one thread"
    takes = features("activation:* padding pool:max stride")

    def kernel(self, problem: Conv2dWeightsGradient) -> ArrayKernel:
        p = problem
        sizes = (
            p.images, p.channels, p.height, p.width, p.maps, *p.mask, *p.stride, *p.padding,
            *p.layer.output_size, int(p.pool is not None), p.layer.conv_size[1],
            ACTIVATION_CODES[p.activation],
        )  # fmt: skip
        kernel = of_winners if p.pool is not None else of_all
        return ArrayKernel(kernel if p.activation == "none" else of_all_behind, p.maps, sizes)


STRATEGIES = loops_and_threads(Loops())
