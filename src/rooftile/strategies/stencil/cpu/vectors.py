"""`vectors`: rows x vectors of sums in registers, over rows staged with their ghost cells.

The points that a stencil has are written out; nothing is multiplied by a zero between them.
"""

from __future__ import annotations

import math

from rooftile.devices.cpu.native import Native
from rooftile.ops import AnyArray, Float32
from rooftile.ops.features import features
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies import CpuKernel, HostStrategy
from rooftile.strategies.common.volume_rows import Pattern, VolumeKernel, kernel, units
from rooftile.strategies.stencil.cpu._steps import Step, Steps, between_steps, lead


class Vectors(HostStrategy):
    """Takes every problem."""

    operation = "stencil"
    name = "vectors"
    summary = "explicit vectors, a block of rows in registers, rows staged with their ghost cells"
    takes = features("boundary:valid")

    def units(self, problem: Stencil) -> int:
        planes, rows, _ = problem.output_size
        return units(planes, rows)

    def native(self, problem: Stencil) -> tuple[Native, tuple[str, ...], bool]:
        return kernel(_pattern(problem)), ("float32",) * 4, True

    def round_trips(self, problem: Stencil) -> dict[str, int]:
        return between_steps(problem)

    def prepare(self, problem: Stencil, parameters: tuple[AnyArray, ...], threads: int) -> Steps:
        pattern = _pattern(problem)
        function = kernel(pattern)

        def make(one: Stencil, coefficients: Float32) -> Step:
            planes, rows, columns = one.output_size
            made = CpuKernel(
                function,
                units=lambda _: units(planes, rows),
                scratch=pattern.scratch,
                sizes=(1, *one.size, 1, planes, rows, columns, *lead(one)),
            )
            return VolumeKernel(made, coefficients, math.prod(one.shape), threads)

        return Steps(problem, parameters[0], make)


def _pattern(problem: Stencil) -> Pattern:
    """The points as places in the mask; all of them where the stencil is a box."""
    if not problem.star:
        return Pattern(problem.mask)
    return Pattern(problem.mask, problem.places)


STRATEGY = Vectors()
