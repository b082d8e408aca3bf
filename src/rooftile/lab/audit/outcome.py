"""The outcome of an audit: the verdict, as a record of the history and as JSON."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from rooftile.devices.gpu import Description
from rooftile.lab.audit.findings import Check
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.process.child import Isolation
from rooftile.lab.measure.ceilings.cpu import Ceilings
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.environment import Environment
from rooftile.lab.measure.records import (
    Cause,
    Error,
    KernelResources,
    Ladder,
    Row,
    plain,
    problem_json,
)
from rooftile.ops import Problem
from rooftile.runtime.timing.host import Timing

MOST_SHARE = 1.05
"""A time this far above the roof says that the ceilings are wrong, or the time."""


@dataclass(frozen=True)
class Audit:
    """The verdict on a foreign kernel."""

    kernel: Foreign
    problem: Problem
    claim: str
    checks: tuple[Check, ...]
    error: Error | None
    """The worst of the right results; None where none was right."""
    time_ms: Timing | None
    """The time of a call on new inputs by the judge's clock.

    For a text on a GPU it is that of a launch, by the device's clock, on data in its memory.  None
    unless every check passed.
    """
    cold_ms: Timing | None
    """For a text on a GPU, the time with nothing of the arrays in the last-level cache."""
    first_call_ms: float | None
    """The first call, with whatever is compiled there."""
    floor_ms: float | None
    """The least time that the measured ceilings allow; None where none are known."""
    limit: str | None
    """The bound of that floor: ``compute`` or ``memory``."""
    resources: KernelResources
    noise: str
    """The end of what the kernel printed."""
    environment: Environment
    ceilings: Ceilings | GpuCeilings | None
    """The ceilings that the floor was computed from."""
    gpu: Description | None
    """The device that it ran on; None for ``cpu``."""
    isolation: Isolation
    """The isolation of the kernel's process from the judge and the user's files."""
    hard_ms: Timing | None = None
    """The time of a call in samples with hard inputs among them; None without any."""
    near_ms: tuple[tuple[Problem, float], ...] = ()
    """Times at sizes and batches that were drawn."""

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return all(check.status != "failed" for check in self.checks)

    @property
    def roof_fraction(self) -> float | None:
        """The floor over the median time; None also where it cannot be true."""
        if self.time_ms is None or self.floor_ms is None:
            return None
        share = self.floor_ms / self.time_ms.median
        return share if share <= MOST_SHARE else None

    def check(self, name: str) -> Check:
        """The verdict of one check."""
        return next(check for check in self.checks if check.name == name)

    def ladder(self) -> Ladder:
        """The audit as a record of the history, with one row for the foreign kernel."""
        failed = [f"{c.name}: {c.evidence}" for c in self.checks if c.status == "failed"]
        median = self.time_ms.median if self.time_ms else math.nan
        timed = self.time_ms is not None
        row = Row(
            "peer",
            self.name,
            self.kernel.device,
            self.claim,
            "passed" if timed else "failed",
            "" if timed else "; ".join(failed)[:500],
            error=self.error,
            time_ms=self.time_ms,
            cold_ms=self.cold_ms,
            first_call_ms=self.first_call_ms if timed else None,
            gflops=1e-6 * self.problem.flops / median if timed else None,
            gbps=1e-6 * self.problem.bytes / median if timed else None,
            roof_fraction=self.roof_fraction,
            resources=self.resources,
            cause=self._cause,
        )
        device = self.kernel.device
        return Ladder(self.problem, device, self.ceilings, self.environment, (row,), self.gpu)

    @property
    def _cause(self) -> Cause:
        """Why there is no time."""
        failed = {check.name for check in self.checks if check.status == "failed"}
        if not failed:
            return ""
        if failed <= {"timers", "floor"}:
            return "invalid time"
        return "error" if failed == {"runs"} else "wrong"

    @property
    def name(self) -> str:
        """The kernel's file and function."""
        return self.kernel.name

    def to_json(self) -> dict[str, Any]:
        """The object that ``rooftile audit --json`` prints."""
        median = self.time_ms.median if self.time_ms else math.nan
        found: dict[str, Any] = plain(
            {
                "kernel": self.name,
                "device": self.kernel.device,
                "precision": self.claim,
                "problem": problem_json(self.problem),
                "status": "passed" if self.passed else "failed",
                "checks": [dataclasses.asdict(check) for check in self.checks],
                "error": dataclasses.asdict(self.error) if self.error else None,
                "time_ms": dataclasses.asdict(self.time_ms) if self.time_ms else None,
                "cold_ms": dataclasses.asdict(self.cold_ms) if self.cold_ms else None,
                "hard_time_ms": dataclasses.asdict(self.hard_ms) if self.hard_ms else None,
                "near_times_ms": [[str(one), time] for one, time in self.near_ms],
                "first_call_ms": self.first_call_ms,
                "gflops": 1e-6 * self.problem.flops / median,
                "gbps": 1e-6 * self.problem.bytes / median,
                "floor_ms": self.floor_ms,
                "roof_fraction": self.roof_fraction,
                "limit": self.limit,
                "resources": dataclasses.asdict(self.resources),
                "isolation": dataclasses.asdict(self.isolation),
                "printed": self.noise,
                "environment": dataclasses.asdict(self.environment),
            }
        )
        return found
