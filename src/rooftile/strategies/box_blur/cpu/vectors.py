"""`vectors`: sums of 16 bits, many in a vector, along rows too.

In `running` each window's sum along a row waits for the one before it. Here many adjacent windows
are summed at a time: their columns are written out, so that the compiler makes a vector of each
addition, and of the divisions. The additions grow with the radius, but where 16 bits hold a
window's sum it is at most 7. With m = ceil(2^24 / d) the quotient is (sum m) >> 24, exactly, as sum
<= 255 d and 255 d^2 < 2^24, and the product stays below 2^32.

Source: McDonnell, "Box-Filtering Techniques", Computer Graphics and Image Processing 17 (1981);
Granlund, Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, last_kernels, native, source
from rooftile.ops import AnyArray
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies import HostStrategy
from rooftile.strategies.box_blur.cpu._rows import add_row, remove_row

_ROWS = 64
"""Rows of a unit."""
_HALF = 2**16


@native
def _exchange_rows(image, sums, entering, leaving, columns):  # type: ignore[no-untyped-def]
    for j in range(columns):
        sums[j] += image[entering + j] - image[leaving + j]


@native
def _divide_at_edges(sums, blurred, at, sizes, rows):  # type: ignore[no-untyped-def]
    """The quotients of a row's pixels that are nearer to an edge than a radius."""
    width, radius, channels = sizes[1], sizes[2], sizes[3]
    reach, columns = radius * channels, width * channels
    for k in range(2 * reach):
        j = k if k < reach else columns - 2 * reach + k
        pixel, total = j // channels, 0
        for i in range(2 * radius + 1):
            total += sums[j + i * channels]
        pixels = min(pixel + radius + 1, width) - max(pixel - radius, 0)
        blurred[at + j] = total // (rows * pixels)


_TEXT = """
def quotients(sums, blurred, at, scale, columns):
    for j in range(columns):
        total = np.uint32({total})
        blurred[at + j] = (total * np.uint32(scale)) >> np.uint32(24)


def kernel(image, workspace, blurred, sizes, begin, end):
    height, columns, reach, band = sizes[0], sizes[1] * sizes[3], sizes[2] * sizes[3], sizes[4]
    pitch = columns + 2 * reach
    for unit in range(begin, end):
        around = workspace[unit * pitch : (unit + 1) * pitch]
        for j in range(pitch):
            around[j] = 0
        sums = around[reach : reach + columns]
        top = unit * band
        for row in range(max(top - {radius}, 0), min(top + {radius} + 1, height)):
            add_row(image, sums, row * columns, columns)
        for row in range(top, min(top + band, height)):
            rows = min(row + {radius} + 1, height) - max(row - {radius}, 0)
            scale = ((1 << 24) + rows * {window} - 1) // (rows * {window})
            quotients(around, blurred, row * columns, scale, columns)
            divide_at_edges(around, blurred, row * columns, sizes, rows)
            entering, leaving = row + {radius} + 1, row - {radius}
            if entering < height and leaving >= 0:
                exchange_rows(image, sums, entering * columns, leaving * columns, columns)
            elif entering < height:
                add_row(image, sums, entering * columns, columns)
            elif leaving >= 0:
                remove_row(image, sums, leaving * columns, columns)
"""
"""Units are bands of rows, each with sums of its columns of its own, between zeros."""


@last_kernels
def _spread(radius: int, channels: int) -> cpu.Spread:
    window = 2 * radius + 1
    total = " + ".join(f"sums[j + {k * channels}]" for k in range(window))
    using = {
        "add_row": add_row,
        "remove_row": remove_row,
        "exchange_rows": _exchange_rows,
        "divide_at_edges": _divide_at_edges,
    }
    text = _TEXT.format(total=total, radius=radius, window=window)
    return cpu.Spread(source("box_blur_vectors", text, using), ("uint8", "uint16", "uint8"))


class Vectors(HostStrategy):
    """Takes radii up to 7, and pictures that are no narrower than a window."""

    operation = "box_blur"
    name = "vectors"
    summary = "sums of 16 bits in vectors, many adjacent windows of a row at a time"
    transforms = True

    def limits(self, problem: BoxBlur) -> str | None:
        if 255 * problem.window**2 >= _HALF:
            return f"radius {problem.radius}: 16 bits do not hold a window's sum"
        if problem.width < problem.window:
            return f"{problem.width} columns, a window has {problem.window}"
        return None

    def units(self, problem: BoxBlur) -> int:
        return -(-problem.height // _ROWS)

    def native(self, problem: BoxBlur) -> tuple[Native, tuple[str, ...], bool]:
        return _spread(problem.radius, problem.channels).native

    def prepare(
        self, problem: BoxBlur, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        units = self.units(problem)
        numbers = problem.height, problem.width, problem.radius, problem.channels, _ROWS
        sizes = np.array(numbers, np.int64)
        pitch = problem.columns + 2 * problem.radius * problem.channels
        workspace = cpu.aligned((units, pitch), np.dtype(np.uint16), "sums of columns")
        run = _spread(problem.radius, problem.channels)
        turn = lock()

        def call(image: AnyArray, blurred: AnyArray) -> None:
            with turn:
                run((image, workspace, blurred), sizes, units, threads)

        return call


STRATEGY = Vectors()
