"""Is it possible?  A time below what the device's measured ceilings allow is no time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from rooftile.ops import Problem
from rooftile.runtime.timing.host import Timing

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
    def of(cls, problem: Problem, sizes: Mapping[str, int] | None = None) -> Self:
        """A problem's compulsory bytes; ``sizes`` gives bytes of an array's element where its own
        dtype has another size."""
        moved, given, results = problem.moved(), 0, 0
        for array in problem.arrays:
            own = array.numpy.itemsize
            nbytes = moved[array.name] // own * (sizes or {}).get(array.name, own)
            if array.role == "output":
                results += nbytes
            else:
                given += nbytes
        return cls(given, results)

    @property
    def all(self) -> int:
        """Bytes read and written."""
        return self.given + self.results


def below_floor(
    problem: Problem,
    traffic: Traffic,
    most_gflops: float,
    bandwidth_gbps: float,
    warm: Timing,
    cold: Timing | None,
    cache_bytes: int | None,
) -> str:
    """Why a device's times cannot be; empty when they can.

    Arithmetic: every FLOP of the direct method takes its time at ``most_gflops``.  That rate is
    infinite for methods that transform, since these save multiplications.

    Memory, warm: inputs, parameters and results may stay in the last-level cache from one
    launch to the next, so only the bytes beyond its size must move.  Cold: inputs and
    parameters must also be read, since the flush took them out; results need not have left
    the cache when the clock stops.  A cache of unknown size (None) may hold everything, and a
    flush of a guessed size may leave it there.  Without a cold time, only the warm one is checked.
    """
    compute = problem.flops / most_gflops * 1e-6
    beyond, read = 0, 0
    if cache_bytes is not None:
        beyond = max(0, traffic.all - cache_bytes)
        read = max(beyond, traffic.given)
    floors = {"warm": (warm.median, beyond)}
    if cold is not None:
        floors["cold"] = (cold.median, read)
    for name, (median, moved) in floors.items():
        floor = max(compute, moved / bandwidth_gbps * 1e-6)
        if median < _SLACK * floor:
            what = "its FLOPs" if compute >= floor else "the bytes that must move"
            return (
                f"{name}, {median:.4g} ms is below the {floor:.4g} ms that the measured "
                f"ceilings allow for {what}"
            )
    return ""
