"""`loops`: every window by its definition, on one thread."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def blur(image, blurred, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    height, width, radius, channels = sizes[0], sizes[1], sizes[2], sizes[3]
    for row in range(begin, end):
        top, bottom = max(row - radius, 0), min(row + radius + 1, height)
        for column in range(width):
            left, right = max(column - radius, 0), min(column + radius + 1, width)
            count = (bottom - top) * (right - left)
            for c in range(channels):
                total = 0
                for i in range(top, bottom):
                    for j in range(left, right):
                        total += image[(i * width + j) * channels + c]
                blurred[(row * width + column) * channels + c] = total // count


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "box_blur"
    name = "loops"
    parallel = False
    summary = "every window by its definition, on one thread"

    def kernel(self, problem: BoxBlur) -> ArrayKernel:
        sizes = problem.height, problem.width, problem.radius, problem.channels
        return ArrayKernel(blur, problem.height, sizes)


STRATEGIES = loops_and_threads(Loops())
