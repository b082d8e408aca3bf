"""A rung's costs and a machine's speeds, which together estimate seconds.

The model is the one on paper: a call or a launch costs something, then the slower of arithmetic and
memory decides, and each independent part of the work, such as a row, adds a little.  Work is shared
by the cores, or comes in waves of blocks over the multiprocessors, whose last may be half empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Speeds:
    """The speeds of a machine, as measured by ``rooftile devices --measure``, or nominal."""

    cores: int
    """Threads that work on a CPU; multiprocessors of a GPU."""
    flops: float
    """float32 operations of fused multiply-adds a second, of all cores."""
    bandwidth: float
    """Bytes a second between memory and all cores."""
    cached: float
    """Bytes a second between the last-level cache and all cores."""
    cache_bytes: int
    start_s: float
    """Until the other threads of a CPU have begun and are done, or until a launch of a GPU has."""
    matrix: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Operations a second of tensor cores, by precision."""

    def rate(self, precision: str) -> float:
        """Operations a second at a precision: of FMAs where tensor cores do not have it."""
        return self.matrix.get(precision, self.flops)

    def holds(self, count: float) -> bool:
        """True if ``count`` bytes stay in the last-level cache."""
        return count <= self.cache_bytes / 2

    def bytes_s(self, count: float) -> float:
        """Seconds to move ``count`` bytes, from the cache where they fit."""
        return count / (self.cached if self.holds(count) else self.bandwidth)


@dataclass(frozen=True)
class Costs:
    """Where a rung's time goes, as shares of a machine's speeds and as seconds."""

    call_us: float = 3.0
    """Of a call that computes nothing, beyond a machine's `Speeds.start_s`."""
    arithmetic: float = math.inf
    """FLOPs a second as a share of the machine's; infinite where they are hidden."""
    memory: float = 1.0
    """Bytes a second as a share of the machine's; beyond the cache it is at most 1."""
    part_ns: float = 0.0
    """Of each independent part, beyond its bytes and FLOPs."""
    most_bytes: float = math.inf
    """Of the largest problem that the costs were fitted to: they say nothing of larger ones."""

    def seconds(
        self,
        work: Work,
        machine: Speeds,
        *,
        precision: str = "ieee",
        threads: int = 1,
        starts: int = 1,
    ) -> float:
        """The time of a call whose work ``threads`` of the machine's cores share."""
        share = threads / machine.cores
        computing = work.flops / (machine.rate(precision) * self.arithmetic * share)
        most = math.inf if machine.holds(work.bytes) else 1.0
        moving = machine.bytes_s(work.bytes) / (min(self.memory, most) * share)
        parts = 1e-9 * self.part_ns * work.parts / threads
        started = starts * machine.start_s if threads > 1 else 0.0
        return 1e-6 * self.call_us + started + max(computing, moving) + parts


@dataclass(frozen=True)
class Work:
    """A rung's work for a problem."""

    flops: float
    bytes: float
    parts: float = 1.0
    """Independent parts, as rows of a reduction and lines of a scan."""


NOMINAL_CPU = Speeds(2, 1.6e11, 2.4e10, 6e10, 2**25, 4e-6)
"""An unmeasured processor: two cores with vectors of eight lanes."""
NOMINAL_GPU = Speeds(132, 5e13, 3e12, 6e12, 50 * 2**20, 2.2e-6,
                     {"fp16": 6e14, "bf16": 6e14, "tf32": 3e14})  # fmt: skip
"""An unmeasured GPU: an H100."""

__all__ = ["NOMINAL_CPU", "NOMINAL_GPU", "Costs", "Speeds", "Work"]
