"""`running`: sums that move on by an addition and a subtraction, whatever the radius.

A column's sum over the rows of a window moves on by a row that enters and one that leaves, and the
window's sum along these by a column.  Whole windows are divided by a multiplication: with
m = ceil(2^48 / d), the quotient of any sum of up to 255 d by d is (sum m) >> 48, exactly, as long
as 255 d^2 < 2^48.

Source: McDonnell, "Box-Filtering Techniques", Computer Graphics and Image Processing 17 (1981);
Granlund, Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.ops import AnyArray
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies import HostStrategy
from rooftile.strategies.box_blur.cpu._rows import add_row, remove_row

_ROWS = 64
"""Rows of a unit."""
_SHIFT = 48
_DTYPES = ("uint8", "int32", "uint8")


@native
def _along_row(sums, blurred, at, width, radius, channels, rows):  # type: ignore[no-untyped-def]
    """One channel of a row from the columns' sums over ``rows`` rows."""
    # Once a window is whole, its count stays.
    whole = rows * (2 * radius + 1)
    scale = ((1 << 48) + whole - 1) // whole
    total = 0
    for j in range(min(radius, width)):
        total += sums[j * channels]
    for j in range(min(radius, width)):
        if j + radius < width:
            total += sums[(j + radius) * channels]
        blurred[at + j * channels] = total // (rows * min(j + radius + 1, width))
    for j in range(radius, width - radius):
        total += sums[(j + radius) * channels]
        blurred[at + j * channels] = (total * scale) >> 48
        total -= sums[(j - radius) * channels]
    for j in range(max(radius, width - radius), width):
        blurred[at + j * channels] = total // (rows * (width - j + radius))
        total -= sums[(j - radius) * channels]


@native
def run_along(image, workspace, blurred, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are bands of rows, each with sums of its columns of its own."""
    height, width, radius, channels, band = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    columns = width * channels
    for unit in range(begin, end):
        sums = workspace[unit * columns : (unit + 1) * columns]
        for j in range(columns):
            sums[j] = 0
        top = unit * band
        for row in range(max(top - radius, 0), min(top + radius, height)):
            add_row(image, sums, row * columns, columns)
        for row in range(top, min(top + band, height)):
            if row + radius < height:
                add_row(image, sums, (row + radius) * columns, columns)
            rows = min(row + radius + 1, height) - max(row - radius, 0)
            for c in range(channels):
                part = sums[c:columns]
                _along_row(part, blurred, row * columns + c, width, radius, channels, rows)
            if row >= radius:
                remove_row(image, sums, (row - radius) * columns, columns)


class Running(HostStrategy):
    """Takes radii up to 500."""

    operation = "box_blur"
    name = "running"
    summary = "sums that move on by an addition and a subtraction, bands of rows over the cores"
    transforms = True

    def limits(self, problem: BoxBlur) -> str | None:
        if 255 * problem.window**4 >= 1 << _SHIFT:
            return f"radius {problem.radius}: its quotients may not be exact"
        return None

    def units(self, problem: BoxBlur) -> int:
        return -(-problem.height // _ROWS)

    def native(self, problem: BoxBlur) -> tuple[Native, tuple[str, ...], bool]:
        return run_along, _DTYPES, False

    def prepare(
        self, problem: BoxBlur, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        units = self.units(problem)
        numbers = problem.height, problem.width, problem.radius, problem.channels, _ROWS
        sizes = np.array(numbers, np.int64)
        workspace = cpu.aligned((units, problem.columns), np.dtype(np.int32), "sums of columns")
        run = cpu.Spread(run_along, _DTYPES)
        turn = lock()

        def call(image: AnyArray, blurred: AnyArray) -> None:
            with turn:
                run((image, workspace, blurred), sizes, units, threads)

        return call


STRATEGY = Running()
