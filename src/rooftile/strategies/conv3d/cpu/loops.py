"""The textbook's loops, on one thread, on every core, and in float64.

Source: PMPP, section 7.1.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.volumes import before
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common import double
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def one_output(x, weights, sizes, n, m, z, i, j):  # type: ignore[no-untyped-def]
    """The sum at one position, over channels and mask.

    Ghost cells take part as zeros: an infinite tap on one gives NaN, as in the reference.
    """
    channels, depth, height, width = sizes[0], sizes[1], sizes[2], sizes[3]
    total = np.float32(0.0)
    for c in range(channels):
        for d in range(sizes[8]):
            for p in range(sizes[9]):
                for q in range(sizes[10]):
                    tap = weights[
                        (((m * channels + c) * sizes[8] + d) * sizes[9] + p) * sizes[10] + q
                    ]
                    plane, row, column = z + d - sizes[11], i + p - sizes[12], j + q - sizes[13]
                    if 0 <= plane < depth and 0 <= row < height and 0 <= column < width:
                        volume = n * channels + c
                        total += tap * x[((volume * depth + plane) * height + row) * width + column]
                    else:
                        total += tap * np.float32(0.0)
    return total


@native
def kernel(x, weights, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows of the result."""
    maps, planes, rows, columns = sizes[4], sizes[5], sizes[6], sizes[7]
    for unit in range(begin, end):
        i, z, volume = unit % rows, unit // rows % planes, unit // (rows * planes)
        n, m = volume // maps, volume % maps
        for j in range(columns):
            out[unit * columns + j] = one_output(x, weights, sizes, n, m, z, i, j)


class Textbook(ArrayStrategy):
    """Takes every problem."""

    operation = "conv3d"
    takes = features("boundary:valid form:batch")

    def kernel(self, problem: Conv3d) -> ArrayKernel:
        planes, rows, _ = problem.output_size
        sizes = (
            problem.channels,
            *problem.size,
            problem.maps,
            *problem.output_size,
            *problem.mask,
            *lead(problem),
        )
        return ArrayKernel(kernel, problem.batch * problem.maps * planes * rows, sizes)


def lead(problem: Conv3d) -> tuple[int, ...]:
    """The distance from an output's first tap to its own index, along each axis."""
    return before(problem.mask) if problem.boundary == "zero" else (0, 0, 0)


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    parallel = False
    summary = "the textbook's loops over outputs, channels and mask, one thread"


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "conv3d"
    takes = features("dtype:float64 boundary:valid form:*")
    summary = "float64: the textbook's loops, over the cores"

    def kernel(self, problem: Conv3d) -> ArrayKernel:
        p, (front, top, left) = problem, lead(problem)
        planes, rows, _ = p.output_size
        sizes = (
            p.channels, *p.size, p.maps, *p.output_size, *p.mask,
            front, 1, 1, top, left, 0, 0, *double.PLAIN,
        )  # fmt: skip
        return ArrayKernel(double.correlated, p.batch * p.maps * planes * rows, sizes)


STRATEGIES = (
    *loops_and_threads(Loops(), "the same loops, rows of the result shared out over the cores"),
    Double(),
)
