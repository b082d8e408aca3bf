"""Both passes of one output after the other, on one thread, on every core, and in float64.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.1.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import Native, native
from rooftile.ops.features import features
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double
from rooftile.strategies.common.correlate import PART_TERMS
from rooftile.strategies.separable.cpu._textbook import FilterStrategy, sum_down


@native
def kernel(x, column, row, between, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are images; ``between`` holds one image's column sums, ghost columns included."""
    height, width, rows, columns = sizes[0], sizes[1], sizes[2], sizes[3]
    taps, left = sizes[5], sizes[7]
    wide = columns + taps - 1
    for image in range(begin, end):
        for i in range(rows):
            for j in range(wide):
                between[i * wide + j] = sum_down(
                    x, column, sizes, image * height * width, i, j - left
                )
        for i in range(rows):
            for j in range(columns):
                total = np.float32(0.0)
                for start in range(0, taps, PART_TERMS):
                    part = np.float32(0.0)
                    for q in range(start, min(start + PART_TERMS, taps)):
                        part += row[q] * between[i * wide + j + q]
                    total += part
                out[(image * rows + i) * columns + j] = total


class Loops(FilterStrategy):
    """One output at a time, on one core."""

    name = "loops"
    summary = "two passes over the image, one output after the other, one thread"
    parallel = False

    def function(self, problem: Separable) -> Native:
        return kernel

    def units(self, problem: Separable) -> int:
        return problem.batch

    def round_trips(self, problem: Separable) -> dict[str, int]:
        return {"the columns' sums": 4 * problem.batch * self.between(problem)}

    def between(self, problem: Separable) -> int:
        """The column's sums of an image."""
        rows, columns = problem.output_size
        return rows * (columns + problem.mask[1] - 1)


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "separable"
    takes = features("dtype:float64 boundary:*")
    summary = "float64: both sums of one output after the other, over the cores"

    def kernel(self, problem: Separable) -> ArrayKernel:
        p = problem
        replicate = int(p.boundary == "replicate")
        sizes = (p.height, p.width, *p.output_size, *p.mask, *p.before, replicate)
        return ArrayKernel(double.separated, p.batch * p.output_size[0], sizes)


STRATEGIES = (Loops(), Double())
