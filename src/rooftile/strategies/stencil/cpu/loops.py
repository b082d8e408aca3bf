"""`loops`: cells, and the points of each, one after the other."""

from __future__ import annotations

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.ops import AnyArray, Float32
from rooftile.ops.features import features
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies import HostStrategy
from rooftile.strategies.contract.cpu import loops_and_threads
from rooftile.strategies.stencil.cpu._steps import Step, Steps, between_steps, lead

_DTYPES = ("float32", "float32", "int64", "float32")


@native
def kernel(x, coefficients, offsets, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows of the result; ``offsets`` are planes, rows and columns of each point.

    Ghost cells take part as zeros: an infinite coefficient on one gives NaN, as in the reference.
    """
    depth, height, width = sizes[0], sizes[1], sizes[2]
    rows, columns = sizes[4], sizes[5]
    for unit in range(begin, end):
        for column in range(columns):
            total = np.float32(0.0)
            for k in range(coefficients.size):
                z = unit // rows + offsets[3 * k]
                i = unit % rows + offsets[3 * k + 1]
                j = column + offsets[3 * k + 2]
                cell = np.float32(0.0)
                if 0 <= z < depth and 0 <= i < height and 0 <= j < width:
                    cell = x[(z * height + i) * width + j]
                total += coefficients[k] * cell
            out[unit * columns + column] = total


class Textbook(HostStrategy):
    """Takes every problem."""

    operation = "stencil"
    takes = features("boundary:valid")

    def units(self, problem: Stencil) -> int:
        planes, rows, _ = problem.output_size
        return planes * rows

    def native(self, problem: Stencil) -> tuple[Native, tuple[str, ...], bool]:
        return kernel, _DTYPES, False

    def round_trips(self, problem: Stencil) -> dict[str, int]:
        return between_steps(problem)

    def prepare(self, problem: Stencil, parameters: tuple[AnyArray, ...], threads: int) -> Steps:
        run = cpu.Spread(kernel, _DTYPES)
        count = threads if self.parallel else 1

        def make(one: Stencil, coefficients: Float32) -> Step:
            size = one.output_size
            offsets = first_offsets(one)
            sizes = np.array((*one.size, *size), np.int64)

            def step(x: Float32, out: Float32) -> None:
                run((x, coefficients, offsets, out), sizes, size[0] * size[1], count)

            return step

        return Steps(problem, parameters[0], make)


def first_offsets(problem: Stencil) -> AnyArray:
    """Each point's offset from the cell with the result's index: int64[points, 3], flat."""
    places: AnyArray = np.array(problem.places, np.int64) - np.array(lead(problem))
    return places.ravel()


class Loops(Textbook):
    """One cell at a time, on one core."""

    name = "loops"
    parallel = False
    summary = "cells, and the points of each, one after the other, one thread"


STRATEGIES = loops_and_threads(
    Loops(), "the same loops, rows of the result shared out over the cores"
)
