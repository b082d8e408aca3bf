"""The explanation of a CPU's strategy: work shared out over cores, under the measured roof."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rooftile.analysis.accesses import Counted
from rooftile.analysis.bounds import RooflineBound, roofline
from rooftile.devices import cpu
from rooftile.devices.cpu.native.vector import lanes
from rooftile.lab.measure.ceilings.cpu import Rates, ceilings
from rooftile.lab.measure.ceilings.cpu_latencies import known_cpu_microbenchmarks
from rooftile.lab.measure.records import plain, problem_json
from rooftile.lab.show.explain.machine_code import Loop, busiest_loop
from rooftile.lab.show.explain.measured import Measured
from rooftile.lab.show.explain.perf import PerfCounts, read_counters, unreadable
from rooftile.ops import Problem
from rooftile.strategies import Strategy

_QUICK_MS = 1000.0
"""Time in ms up to which a strategy is called again for its counters without being asked."""
_SHORT_MS = 0.05
"""To share out less work better saves nothing: the cores take microseconds to meet."""
_NEAR, _FAR = 0.75, 0.4
"""Shares of the floor: from the first on little can be gained, below the second much."""


@dataclass(frozen=True)
class CpuExplanation:
    """Bounds of a CPU's strategy. Times are in ms, of the whole batch."""

    problem: Problem
    strategy: str
    summary: str
    precision: str
    threads: int
    units: int | None
    """Pieces of independent work that the threads share; None where a library shares it out."""
    rates: Rates
    bound: RooflineBound
    """The roofline of all cores at the problem's intensity."""
    floor_ms: float
    measured: Measured | None
    latency_ns: float | None = None
    """Latency of memory, where it was measured."""
    step_ns: float | None = None
    """Latency of a dependent multiply-add, where it was measured."""
    cores: int = 1
    vector_lanes: int = 1
    """float32 in the processor's widest vector."""
    cache_bytes: int | None = None
    """Of the largest cache."""
    loop: Loop | None = None
    """The kernel's busiest loop; None where a library computes, or it cannot be read."""
    round_trips: Mapping[str, int] = field(default_factory=dict)
    """Bytes that are written and read again between its parts, by what holds them."""
    parts: Counted = field(default_factory=dict)
    """Reads, writes and arithmetic of each of its parts, on paper."""
    counts: PerfCounts | None = None
    """The processor's counts of one call."""
    not_counted: str = ""
    """Why it did not; empty where it did."""

    @property
    def bound_fraction(self) -> float | None:
        """The floor over the measured time."""
        return self.floor_ms / self.measured.median_ms if self.measured else None

    @property
    def chains_needed(self) -> float | None:
        """Chains of multiply-adds that keep one thread's arithmetic busy; None where the latency
        was not measured."""
        if self.step_ns is None or self.loop is None:
            return None
        each = self.rates.fma_gflops / self.rates.threads
        return each * self.step_ns / (2 * self.vector_lanes)

    def advice(self) -> list[str]:
        """At most two sentences on what to try next, from the numbers; what gains more first."""
        rules = (self._on_cores, self._on_the_loop, self._on_traffic, self._on_the_floor)
        found = [sentence for rule in rules for sentence in rule()]
        return found[:2]

    def _on_cores(self) -> Iterator[str]:
        if self._is_near:
            return
        if self.threads == 1 and self.cores > 1:
            several = self.units is not None and self.units > 1
            units = f"its {self.units:,} units" if several else "its work"
            yield (
                f"One of {self.cores} cores works: {units} shared out over threads would take up "
                f"to {self.cores} times less."
            )
        elif self.units is not None and self.threads > 1 and self._is_coarse:
            yield (
                f"{self.units} units of work over {self.threads} threads leave some idle at the "
                "end: smaller units would share out better."
            )

    def _on_the_loop(self) -> Iterator[str]:
        loop = self.loop
        if loop is None or self._is_near:
            return
        if loop.mathematics:
            yield (
                f"Its busiest loop calls {loop.mathematics[0]} for one element at a time: one "
                f"made of vectors computes {self.vector_lanes} at once."
            )
        elif loop.scalar_operations > loop.vector_operations:
            branch = (
                f" and {loop.branches} branches stand in its busiest loop: to treat the border "
                "apart rids the rest of them and lets vectors in"
                if loop.branches
                else f" where a vector holds {self.vector_lanes}"
            )
            yield f"An arithmetic instruction computes one element{branch}."
        elif loop.spills:
            yield (
                f"{loop.spills} instructions of its busiest loop read or write the stack: a "
                "smaller tile would stay in registers."
            )
        elif (needed := self.chains_needed) and 0 < loop.chains < needed / loop.longest_chain:
            yield (
                f"{loop.chains} sums depend on themselves and {needed:.0f} are needed to hide a "
                "multiply-add's latency: more results at a time would."
            )

    def _on_traffic(self) -> Iterator[str]:
        moved = sum(self.round_trips.values())
        if moved > self.problem.bytes and not self._is_near:
            yield (
                f"The data between its parts ({', '.join(self.round_trips)}) is "
                f"{moved / self.problem.bytes:.2g} times the "
                "compulsory bytes, written and read again: to compute from the input in place "
                "saves them."
            )

    def _on_the_floor(self) -> Iterator[str]:
        share = self.bound_fraction
        if share is None:
            yield "No time of it is recorded: rooftile climb measures one."
        elif share > 1:
            yield (
                f"It takes {1 / share:.2f} times the floor: a transform saves FLOPs, or the caches "
                "hold the arrays."
            )
        elif share >= _NEAR:
            yield f"It takes {1 / share:.2f} times the floor: little is left at this precision."
        elif self.bound.limit == "memory" and share < _FAR:
            yield (
                f"Memory sets the floor, and it takes {1 / share:.3g} times that: not memory but "
                "instructions, latency or the call itself take its time."
            )
        elif self.bound.limit == "memory":
            yield (
                f"Memory bounds the problem ({self.bound.intensity:.2g} FLOP a byte): fusing it "
                "with its neighbours would save their bytes."
            )
        elif share < _FAR:
            yield (
                f"Arithmetic bounds the problem and it takes {1 / share:.3g} times that: more "
                "multiply-adds for each load (a larger tile in registers) would bring it nearer."
            )

    @property
    def _is_coarse(self) -> bool:
        units = self.units or 0
        return units < 4 * self.threads and self.floor_ms >= _SHORT_MS

    @property
    def _is_near(self) -> bool:
        return self.bound_fraction is not None and self.bound_fraction >= _NEAR

    def to_json(self) -> dict[str, Any]:
        """The object that ``rooftile explain --json`` prints."""
        fields = dataclasses.asdict(self)
        del fields["problem"]
        found: dict[str, Any] = plain(
            {
                **fields,
                "device": "cpu",
                "bound_fraction": self.bound_fraction,
                "advice": self.advice(),
            }
        )
        return {"problem": problem_json(self.problem), **found}


def explain_cpu(
    strategy: Strategy,
    problem: Problem,
    *,
    measured: Measured | None = None,
    shape: str | None = None,
    counted: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> CpuExplanation:
    """Explain a CPU's strategy under the ceilings of all cores, measured if they are not known.

    ``shape`` is the problem's in words, from which another process makes it anew to count in a
    call: where ``counted`` asks for it, or where that is quick and possible.  Raises
    `UnsupportedProblem`, and the errors of `read_counters` where counts were asked for.
    """
    strategy.check(problem)
    rates = ceilings(progress=progress).all_cores
    memories = known_cpu_microbenchmarks()
    latency = memories.latency("memory") if memories else None
    step = memories.latency("registers") if memories else None
    rung: Any = strategy
    kernel = rung.native(problem)
    quick = measured is not None and measured.median_ms <= _QUICK_MS
    counts = None
    if shape is not None and (counted or (quick and not unreadable())):
        counts = _counts(strategy, problem, shape, seed, progress)
    return CpuExplanation(
        problem=problem,
        strategy=strategy.name,
        summary=strategy.summary,
        precision=strategy.precision,
        threads=cpu.cores() if strategy.parallel else 1,
        units=strategy.units(problem),
        rates=rates,
        bound=roofline(problem.flops, problem.bytes, rates.fma_gflops, rates.bandwidth_gbps),
        floor_ms=rates.floor_ms(problem),
        measured=measured,
        latency_ns=latency.ns if latency else None,
        step_ns=step.ns if step else None,
        cores=cpu.cores(),
        vector_lanes=lanes(),
        cache_bytes=cpu.cache_bytes(),
        loop=busiest_loop(*kernel) if kernel else None,
        round_trips=rung.round_trips(problem),
        parts=rung.accesses(problem),
        counts=counts,
        not_counted="" if counts else unreadable() or "--profile counts",
    )


def _counts(
    strategy: Strategy,
    problem: Problem,
    shape: str,
    seed: int,
    progress: Callable[[str], None] | None,
) -> PerfCounts:
    """The counts of a call, from another process."""
    if progress is not None:
        progress("reading the counters")
    return read_counters(problem.operation, shape, problem.batch_size, strategy.name, seed)
