"""`loops`: one plane of an image after the other, on one thread.

Source: Szeliski, "Computer Vision: Algorithms and Applications", 2nd ed., section 3.5.1 (bilinear).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.layers.gather_batch import GatherBatch
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def level(data, begin, varied, shift, height, width, i, j):  # type: ignore[no-untyped-def]
    """A pixel of the mirrored and moved image, whose plane begins there."""
    row = i + (varied & 255) - shift
    column = j + ((varied >> 8) & 255) - shift
    if row < 0 or row >= height or column < 0 or column >= width:
        return np.float32(0)
    if varied >> 16 > 0:
        column = width - 1 - column
    return np.float32(data[begin + row * width + column])


@native
def each_plane(  # type: ignore[no-untyped-def]
    data, targets, order, variation, step, places, shares, scales, x, chosen, sizes, begin, end
):
    """Units are planes of the batch's images."""
    channels, old_height, old_width = sizes[0], sizes[1], sizes[2]
    height, width, shift, words = sizes[3], sizes[4], sizes[5], sizes[6]
    for unit in range(begin, end):
        n, c = unit // channels, unit % channels
        place = np.int64(step[0]) * sizes[7] + n
        number, varied = np.int64(order[place]), np.int64(variation[place])
        if c == 0:
            for k in range(words):
                chosen[n * words + k] = targets[number * words + k]
        plane = (number * channels + c) * old_height * old_width
        factor, off = scales[2 * c], scales[2 * c + 1]
        for i in range(height):
            top = np.int64(places[i])
            under = min(top + 1, old_height - 1)
            for j in range(width):
                left = np.int64(places[height + j])
                right = min(left + 1, old_width - 1)
                near, far = shares[2 * (height + j)], shares[2 * (height + j) + 1]
                above = near * level(data, plane, varied, shift, old_height, old_width, top, left)
                above += far * level(data, plane, varied, shift, old_height, old_width, top, right)
                below = near * level(data, plane, varied, shift, old_height, old_width, under, left)
                below += far * level(
                    data, plane, varied, shift, old_height, old_width, under, right
                )
                value = shares[2 * i] * above + shares[2 * i + 1] * below
                x[(unit * height + i) * width + j] = value * factor - off


@native
def each_plane_of_floats(  # type: ignore[no-untyped-def]
    data, targets, order, variation, step, places, shares, scales, x, chosen, sizes, begin, end
):
    """The same of numbers, which stay."""
    channels, height, width = sizes[0], sizes[1], sizes[2]
    shift, words = sizes[5], sizes[6]
    for unit in range(begin, end):
        n, c = unit // channels, unit % channels
        place = np.int64(step[0]) * sizes[7] + n
        number, varied = np.int64(order[place]), np.int64(variation[place])
        if c == 0:
            for k in range(words):
                chosen[n * words + k] = targets[number * words + k]
        plane = (number * channels + c) * height * width
        for i in range(height):
            for j in range(width):
                x[(unit * height + i) * width + j] = level(
                    data, plane, varied, shift, height, width, i, j
                )


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "gather_batch"
    name = "loops"
    parallel = False
    summary = "one plane of an image after the other, on one thread"
    takes = features("floats")

    def kernel(self, problem: GatherBatch) -> ArrayKernel:
        p = problem
        old, new = (p.old_height, p.old_width), (p.height, p.width)
        sizes = p.channels, *old, *new, p.shift, p.target_words, p.whole
        function = each_plane_of_floats if p.floats else each_plane
        return ArrayKernel(function, p.images * p.channels, sizes)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loops on every core"


STRATEGIES = (Loops(), Threads())
