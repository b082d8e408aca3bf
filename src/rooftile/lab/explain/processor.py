"""The explanation of a CPU's strategy: work shared out over cores, under the measured roof."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rooftile.analysis.bounds import Bound, roofline
from rooftile.devices import cpu
from rooftile.lab.ceilings.cpu import Rates, ceilings
from rooftile.lab.ceilings.cpu_latencies import known_cpu_microbenchmarks
from rooftile.lab.explain.measured import Measured
from rooftile.lab.records import plain, problem_json
from rooftile.ops import Problem
from rooftile.strategies import Strategy

_NEAR, _FAR = 0.75, 0.4
"""Shares of the floor: from the first on little can be gained, below the second much."""


@dataclass(frozen=True)
class CpuExplanation:
    """What bounds a CPU's strategy.  Times are in ms, of the whole batch."""

    problem: Problem
    strategy: str
    summary: str
    precision: str
    threads: int
    units: int | None
    """Pieces of independent work that the threads share; None where a library shares it out."""
    rates: Rates
    bound: Bound
    """The roofline of all cores at the problem's intensity."""
    floor_ms: float
    measured: Measured | None
    latency_ns: float | None = None
    """How long memory takes to answer, where that was measured."""

    @property
    def bound_fraction(self) -> float | None:
        """The floor over the measured time."""
        return self.floor_ms / self.measured.median_ms if self.measured else None

    def advice(self) -> list[str]:
        """What to try next, from the numbers."""
        found = []
        if self.units is not None and self.threads > 1 and self.units < 4 * self.threads:
            found.append(
                f"{self.units} units of work over {self.threads} threads leave some idle at the "
                "end: smaller units would share out better."
            )
        share = self.bound_fraction
        if share is None:
            found.append("No time of it is recorded: rooftile climb measures one.")
        elif share > 1:
            found.append(
                f"It passes the floor ({share:.0%}): a transform saves FLOPs, or the caches hold "
                "the arrays."
            )
        elif share >= _NEAR:
            found.append(f"It runs at {share:.0%} of the floor: little is left at this precision.")
        elif share < _FAR and self.bound.limit == "compute":
            found.append(
                f"Arithmetic bounds the problem and it runs at {share:.0%} of it: more "
                "multiply-adds for each load (a larger tile in registers) would bring it nearer."
            )
        elif self.bound.limit == "memory":
            found.append(
                f"Memory bounds the problem ({self.bound.intensity:.2g} FLOP a byte): fusing it "
                "with its neighbours would save their bytes."
            )
        return found[:2]

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
    progress: Callable[[str], None] | None = None,
) -> CpuExplanation:
    """Explain a CPU's strategy under the ceilings of all cores, measured if they are not known.

    Raises `UnsupportedProblem`.
    """
    strategy.check(problem)
    rates = ceilings(progress=progress).all_cores
    memories = known_cpu_microbenchmarks()
    latency = memories.latency("memory") if memories else None
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
    )
