"""`loops`: one gradient after the other, on one thread. Source: PMPP, section 16.2."""

from __future__ import annotations

import math
from dataclasses import replace

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.fused import ACTIVATION_CODES, derivative
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def one_gradient(value, weights, tap, dx, to, y, z, sizes):  # type: ignore[no-untyped-def]
    """Add to a channel what a gradient brings to the pixels that its output saw."""
    height, width = sizes[1], sizes[2]
    for p in range(sizes[4]):
        for q in range(sizes[5]):
            if 0 <= y + p < height and 0 <= z + q < width:
                dx[to + (y + p) * width + z + q] += value * weights[tap + p * sizes[5] + q]


@native
def each_image(dy, where, x, weights, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are channels of images; ``where`` is read where sizes[12] says that there is one, and
    ``x`` where sizes[14] is the code of an activation."""
    channels, plane, maps, taps = sizes[0], sizes[1] * sizes[2], sizes[3], sizes[4] * sizes[5]
    outputs, columns = sizes[10] * sizes[11], sizes[13]
    for unit in range(begin, end):
        n, c = unit // channels, unit % channels
        for k in range(unit * plane, (unit + 1) * plane):
            dx[k] = 0.0
        for m in range(maps):
            for k in range(outputs):
                at, place = (n * maps + m) * outputs + k, k
                if sizes[12]:
                    place = where[at]
                y = place // columns * sizes[6] - sizes[8]
                z = place % columns * sizes[7] - sizes[9]
                tap = (m * channels + c) * taps
                one_gradient(dy[at], weights, tap, dx, unit * plane, y, z, sizes)
        if sizes[14]:
            for k in range(unit * plane, (unit + 1) * plane):
                dx[k] = dx[k] * derivative(sizes[14], x[k])


# Nothing is read of what stands for the arrays that a problem has not.
@native
def of_all(dy, weights, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Gradients of all outputs."""
    each_image(dy, sizes, dy, weights, dx, sizes, begin, end)


@native
def of_winners(dy, where, weights, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Gradients with their places."""
    each_image(dy, where, dy, weights, dx, sizes, begin, end)


@native
def of_all_behind(dy, x, weights, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Gradients of all outputs, of an activation's value."""
    each_image(dy, sizes, x, weights, dx, sizes, begin, end)


_KERNELS = {
    (False, False): of_all,
    (True, False): of_winners,
    (False, True): of_all_behind,
    (True, True): each_image,
}
"""By whether there are places, and an activation before."""


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "conv2d_input_gradient"
    name = "loops"
    parallel = False
    summary = "one gradient after the other, on one thread"
    takes = features("before:* padding pool:max stride")
    margin = 2.0  # Of 109 drawn problems it was slower than `nonzeros` where it was nearer.

    def work(self, problem: Conv2dInputGradient) -> Work:
        """See `Strategy.work`: every tap of a pixel is a part, where there is a gradient or not."""
        p = problem
        parts = p.output_arrays[0].size * p.maps * math.prod(p.mask) / math.prod(p.stride)
        return replace(super().work(problem), parts=parts)

    def kernel(self, problem: Conv2dInputGradient) -> ArrayKernel:
        p = problem
        sizes = (
            p.channels, p.height, p.width, p.maps, *p.mask, *p.stride, *p.padding,
            *p.layer.output_size, int(p.pool is not None), p.layer.conv_size[1],
            ACTIVATION_CODES[p.before],
        )  # fmt: skip
        kernel = _KERNELS[p.pool is not None, p.before != "none"]
        return ArrayKernel(kernel, p.batch * p.channels, sizes)


STRATEGIES = loops_and_threads(Loops())
