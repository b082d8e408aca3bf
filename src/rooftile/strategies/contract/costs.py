"""A rung's costs and a machine's speeds, which together estimate seconds.

The time is a sum: a call and its starts of threads or kernels, then arithmetic and bytes at some
share of the machine's speeds, then each independent part of the work, such as a row, further steps,
and a sum's terms, of which each waits for the one before.  A cost is zero where what it counts is
hidden behind the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import mul
from typing import NamedTuple


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
class Work:
    """A rung's work for a problem."""

    flops: float
    """Operations that it executes, those of tiles' unused places too where it counts them."""
    bytes: float
    parts: float = 1.0
    """Independent parts, as rows of a reduction and lines of a scan; of a GPU the blocks that a
    multiprocessor runs one after another."""
    steps: float = 0.0
    """Further steps: of a CPU elements that an exponential is computed of, or that lie apart in
    memory; of a GPU clocks of the rung's own model of its tiles, of all multiprocessors."""
    chain: float = 0.0
    """Terms that a GPU's thread sums one after another, in all waves of resident blocks."""


class Costs(NamedTuple):
    """What a rung's call takes, by what it grows with: the sum of the products of `terms`."""

    call_us: float = 3.0
    """Of a call that computes nothing, beyond a machine's `Speeds.start_s`."""
    starts: float = 1.0
    """How often a start of the other threads, or of a kernel, is waited for as such."""
    arithmetic: float = 0.0
    """How many times as long as at the machine's rate the FLOPs take; zero where memory hides
    them."""
    memory: float = 1.0
    """How many times as long as at the machine's bandwidth the bytes take."""
    part_ns: float = 0.0
    """Of each part, beyond its bytes and FLOPs."""
    step_ns: float = 0.0
    """Of each of `Work.steps`."""
    chain_ns: float = 0.0
    """Of each of `Work.chain`."""

    def seconds(self, terms: Costs) -> float:
        """The time of a call with these terms, see `terms`."""
        seconds: float = sum(map(mul, self, terms))
        return seconds


def terms(
    work: Work, machine: Speeds, *, precision: str = "ieee", threads: int = 1, starts: int = 1
) -> Costs:
    """The seconds for which each of a rung's costs counts once, where so many of the machine's
    cores share the work."""
    share = threads / machine.cores
    return Costs(
        1e-6,
        starts * machine.start_s if threads > 1 else 0.0,
        work.flops / (machine.rate(precision) * share),
        machine.bytes_s(work.bytes) / share,
        1e-9 * work.parts / threads,
        1e-9 * work.steps / threads,
        1e-9 * work.chain,
    )


NOMINAL_CPU = Speeds(2, 1.6e11, 2.4e10, 6e10, 2**25, 4e-6)
"""An unmeasured processor: two cores with vectors of eight lanes."""
NOMINAL_GPU = Speeds(132, 6.3e13, 4.65e12, 6e12, 50 * 2**20, 5.2e-7,
                     {"fp16": 8.8e14, "bf16": 9.1e14, "tf32": 4.8e14})  # fmt: skip
"""An unmeasured GPU: as an H200, to whose times the costs were fitted."""

__all__ = ["NOMINAL_CPU", "NOMINAL_GPU", "Costs", "Speeds", "Work", "terms"]
