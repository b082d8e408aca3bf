"""Is it possible?  A time below what the device's measured ceilings allow is no time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from rooftile.lab.measure import Timing
from rooftile.ops import Problem

_SLACK = 0.9
"""Below this share of a floor a time is invalid: clocks differ a little between the ceiling's
measurement and the time's."""


@dataclass(frozen=True)
class Traffic:
    """Bytes that must move, in the formats that the arrays have."""

    given: int
    """Inputs and parameters."""
    results: int

    @classmethod
    def of(cls, problem: Problem, *, x: int = 4, parameters: int = 4, out: int = 4) -> Self:
        """A problem's compulsory ones, with so many bytes for an element of each array."""
        held = sum(math.prod(shape) for shape in problem.parameter_shapes.values())
        results = math.prod(problem.output_shape)
        # What a problem's bytes count of the input may be less than all of it.
        inputs = problem.bytes // 4 - held - results
        return cls(x * inputs + parameters * held, out * results)

    @property
    def all(self) -> int:
        """Read and written."""
        return self.given + self.results


def below_floor(
    problem: Problem,
    traffic: Traffic,
    most_gflops: float,
    bandwidth_gbps: float,
    warm: Timing,
    cold: Timing,
    cache_bytes: int,
) -> str:
    """Why a device's times cannot be; empty when they can.

    Arithmetic: every FLOP of the direct method at ``most_gflops``, which is infinite for what
    transforms, and so saves multiplications.

    Memory, warm: inputs, parameters and results may stay in the last-level cache from one
    launch to the next, so only the bytes beyond its size must move.  Cold: inputs and
    parameters must be read besides, as the flush took them out; results need not have left
    the cache when the clock stops.
    """
    compute = problem.flops / most_gflops * 1e-6
    beyond = max(0, traffic.all - cache_bytes)
    floors = {
        "warm": (warm.median, beyond),
        "cold": (cold.median, max(beyond, traffic.given)),
    }
    for name, (median, moved) in floors.items():
        floor = max(compute, moved / bandwidth_gbps * 1e-6)
        if median < _SLACK * floor:
            what = "its FLOPs" if compute >= floor else "the bytes that must move"
            return (
                f"{name}, {median:.4g} ms is below the {floor:.4g} ms that the measured "
                f"ceilings allow for {what}"
            )
    return ""
