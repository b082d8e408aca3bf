"""`loops`: one pixel after the other, on one thread."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def weigh(image, gray, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are pixels; ``sizes`` are the weights of red, green and blue."""
    red, green, blue = np.uint32(sizes[0]), np.uint32(sizes[1]), np.uint32(sizes[2])
    half = np.uint32(32768)
    for i in range(begin, end):
        total = red * np.uint32(image[3 * i]) + green * np.uint32(image[3 * i + 1])
        gray[i] = (total + blue * np.uint32(image[3 * i + 2]) + half) >> np.uint32(16)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "grayscale"
    name = "loops"
    parallel = False
    summary = "one pixel after the other, on one thread"

    def kernel(self, problem: Grayscale) -> ArrayKernel:
        return ArrayKernel(weigh, problem.count, problem.weights)


STRATEGIES = loops_and_threads(Loops(), "the same loop on every core")
