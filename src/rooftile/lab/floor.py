"""Is it possible?  A time below what the device's measured ceilings allow is no time."""

from __future__ import annotations

import math

from rooftile.lab.ceilings_gpu import GpuCeilings
from rooftile.lab.measure_gpu import GpuTiming
from rooftile.ops import Problem

_SLACK = 0.9
"""Below this share of a floor a time is invalid: clocks differ a little between the ceiling's
measurement and the time's."""


def below_floor(
    problem: Problem, precision: str, timing: GpuTiming, roof: GpuCeilings, cache_bytes: int
) -> str:
    """Why a GPU's times cannot be; empty when they can.

    Arithmetic: every FLOP of the direct method at the most that the precision can reach, except
    for ``fast``, whose transforms save multiplications.

    Memory, warm: inputs, parameters and results may stay in the last-level cache from one
    launch to the next, so only the bytes beyond its size must move.  Cold: inputs and
    parameters must be read besides, as the flush took them out; results need not have left
    the cache when the clock stops.
    """
    compute = problem.flops / roof.most_gflops(precision) * 1e-6
    beyond = max(0, problem.bytes - cache_bytes)
    results = 4 * math.prod(problem.output_shape)
    floors = {
        "warm": (timing.warm.median, beyond),
        "cold": (timing.cold.median, max(beyond, problem.bytes - results)),
    }
    for name, (median, moved) in floors.items():
        floor = max(compute, moved / roof.bandwidth_gbps * 1e-6)
        if median < _SLACK * floor:
            what = "its FLOPs" if compute >= floor else "the bytes that must move"
            return (
                f"{name}, {median:.4g} ms is below the {floor:.4g} ms that the measured "
                f"ceilings allow for {what}"
            )
    return ""
