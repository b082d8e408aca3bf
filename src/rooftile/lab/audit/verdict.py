"""The audit of a foreign kernel: is it right, is it honest, how fast, how far from the roof."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rooftile.devices.gpu import Description
from rooftile.devices.select import open_device, open_gpu
from rooftile.lab.audit.arena import layout
from rooftile.lab.audit.child import Complained, Died
from rooftile.lab.audit.findings import Check, Findings
from rooftile.lab.audit.judge import Judge
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.library import Inspection
from rooftile.lab.audit.races import look_for_races
from rooftile.lab.audit.rounding import check_claim
from rooftile.lab.audit.session import Session, slots_for
from rooftile.lab.audit.speed import Speed
from rooftile.lab.audit.text_speed import TextSpeed
from rooftile.lab.audit.trials import Trials
from rooftile.lab.ceilings.cpu import Ceilings
from rooftile.lab.ceilings.gpu import GpuCeilings
from rooftile.lab.ceilings.known import Known, known_roof
from rooftile.lab.environment import Environment, environment
from rooftile.lab.judge.contest import VERIFIED_ITEMS
from rooftile.lab.judge.floor import Traffic, below_floor
from rooftile.lab.records import Cause, Error, Ladder, Resources, Row, plain, problem_json
from rooftile.ops import Problem
from rooftile.runtime.timing.host import Timing

Progress = Callable[[str], None]

_TRIAL_FLOPS = 2 * 10**9
"""FLOPs of a trial, where the problem can be made so small: a reference takes about a second."""


class UnusableKernel(Exception):
    """The kernel cannot be called: its signature or its file does not allow it.

    This is a wrong use, not a verdict.
    """


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

    For a text it is that of a launch, by the device's clock, on data in its memory.  None unless
    every check passed.
    """
    cold_ms: Timing | None
    """For a text on a GPU, the time with nothing of the arrays in the last-level cache."""
    first_call_ms: float | None
    """The first call, with whatever is compiled there."""
    floor_ms: float | None
    """The least time that the measured ceilings allow; None where none are known."""
    limit: str | None
    """What sets that floor: ``compute`` or ``memory``."""
    resources: Resources
    noise: str
    """The end of what the kernel printed."""
    environment: Environment
    ceilings: Ceilings | GpuCeilings | None
    """What the floor was computed from."""
    gpu: Description | None
    """The device that it ran on; None for ``cpu``."""

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.status != "failed" for check in self.checks)

    @property
    def roof_fraction(self) -> float | None:
        """The floor over the median time."""
        known = self.time_ms is not None and self.floor_ms is not None
        return self.floor_ms / self.time_ms.median if known else None  # type: ignore[operator,union-attr]

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
        return f"{self.kernel.path.name}:{self.kernel.function}"

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
                "first_call_ms": self.first_call_ms,
                "gflops": 1e-6 * self.problem.flops / median,
                "gbps": 1e-6 * self.problem.bytes / median,
                "floor_ms": self.floor_ms,
                "roof_fraction": self.roof_fraction,
                "limit": self.limit,
                "resources": dataclasses.asdict(self.resources),
                "printed": self.noise,
                "environment": dataclasses.asdict(self.environment),
            }
        )
        return found


def audit(
    kernel: Foreign,
    problem: Problem,
    *,
    precision: str = "ieee",
    allow_library: bool = False,
    fixed_shape: bool = False,
    deterministic: bool = True,
    limit_s: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """Judge a foreign kernel on a problem.

    ``precision`` is what the kernel claims, see `rooftile.lab.audit.rounding.CLAIMS`.
    ``fixed_shape`` says that it is made for this problem's shape alone; ``deterministic=False``
    that two runs may differ in their last bits.  ``limit_s`` bounds each request to its process.
    ``seed`` makes the inputs that anybody may know; the others are secret.

    Raises `InputError`, `DeviceMissing`, and `UnusableKernel` for a file or a function that
    cannot be called.  Whatever the kernel does is a verdict, not an exception.
    """
    check_claim(precision)
    return _Audit(
        kernel,
        problem,
        precision,
        allow_library,
        fixed_shape,
        deterministic,
        limit_s,
        seed,
        progress or (lambda line: None),
    ).run()


@dataclass
class _Audit:
    kernel: Foreign
    problem: Problem
    claim: str
    allow_library: bool
    fixed_shape: bool
    deterministic: bool
    limit_s: float
    seed: int
    report: Progress

    def run(self) -> Audit:
        """Make every trial in turn; one that breaks the process is the last."""
        self.findings = Findings()
        self.first_ms: float | None = None
        self.time: Timing | None = None
        self.cold: Timing | None = None
        self.limit: str | None = None
        self.noise: str | None = None
        self.known: Known | None = None
        self.resources = Resources()
        with Session(self.kernel, self._bytes(), self.limit_s) as session:
            judge = Judge(session, self.findings, self.claim)
            try:
                self._trials(session, judge)
                self.findings.passed("runs")
            except Died as error:
                self.findings.failed("runs", f"it {error}")
            except Complained as error:
                if error.kind == "usage":
                    raise UnusableKernel(error.what) from None
                self.findings.failed("runs", error.what)
            noise = session.child.noise if self.noise is None else self.noise
        for name in ("form", "lazy", "bounds", "inputs", "on_time"):
            if judge.worst is not None:
                self.findings.passed(name)
        floor = self._floor(self.time) if self.time else None
        return Audit(
            self.kernel,
            self.problem,
            self.claim,
            self.findings.checks(),
            Error.of(judge.worst) if judge.worst else None,
            self.time if self.findings.right else None,
            self.cold if self.findings.right else None,
            self.first_ms,
            floor,
            self.limit,
            self.resources,
            noise,
            environment(),
            self.known.ceilings if self.known else None,
            self._gpu(),
        )

    def _trials(self, session: Session, judge: Judge) -> None:
        trials = Trials(session, judge, self.findings, self.seed, self.deterministic)
        self.report("loading")
        session.load()
        small = self._small()
        if self.kernel.text:
            self.report("races")
            look_for_races(self.kernel, self._few(), self.findings, self.limit_s)
        else:
            self.findings.skipped("races", "it is no text whose threads could be watched")
        self.report("results on known and on secret inputs")
        first_s = trials.values(small)
        if first_s is None:
            trials.elsewhere()
            return
        self.first_ms = 1e3 * first_s
        trials.order(small)
        self.report("other shapes")
        trials.shapes(self.problem, self.fixed_shape)
        if not self.findings.right:
            return
        if self.kernel.text:
            self._text(session, judge)
            return
        self.report("contents that come again")
        trials.replay(small)
        self.report("timing")
        speed = Speed(session, judge, self.findings)
        time_ms = speed.measure(self.problem)
        if time_ms is None:
            return
        self.time = time_ms
        self.report("who does the work")
        self.noise = session.child.noise  # Later output may be a profiler's.
        Inspection(session, self.findings, self.allow_library).look(1e-3 * time_ms.median)

    def _text(self, session: Session, judge: Judge) -> None:
        """The times of a text's kernel by the device's clock: no stranger's code is near it."""
        for name in ("lazy", "timers", "processes", "library", "reference"):
            self.findings.skipped(name, "a kernel's text runs on the device alone")
        self.report("timing")
        timed = TextSpeed(session, judge, self.findings)
        timed.measure(self.problem)
        self.time, self.cold, self.resources = timed.warm, timed.cold, timed.resources

    def _small(self) -> Problem:
        """The problem with as many items as a trial can bear; without a batch, a smaller one."""
        problem, batch = self.problem, self.problem.batch_size
        if batch is None:
            return problem if problem.flops <= _TRIAL_FLOPS else problem.shrunk()
        fitting = int(_TRIAL_FLOPS * batch / max(1, problem.flops))
        return problem.with_batch(max(1, min(batch, VERIFIED_ITEMS, fitting)))

    def _few(self) -> Problem:
        """The least problem of several tiles that the kernel is made for."""
        if self.fixed_shape:
            return self.problem
        return min((self.problem, *self.problem.neighbours()), key=lambda one: one.flops)

    def _bytes(self) -> int:
        problems = [(one, max(3, slots_for(one))) for one in (self.problem, self._small())]
        if not self.fixed_shape:
            problems += [(p, 1) for p in (*self.problem.neighbours(), *self.problem.smallest())]
        return max(layout(p, slots, self.kernel.memory)[1] for p, slots in problems)

    def _floor(self, time: Timing) -> float | None:
        """The least time in milliseconds; a time in which the bytes cannot move is a failure."""
        device = open_device(self.kernel.device)
        self.known = known_roof(device, self.report)
        roof = self.known.roof
        if roof is None:
            self.findings.skipped("floor", "no ceilings are known of this device")
            return None
        self.limit = roof.limit(self.problem)
        floor, below = roof.floor_ms(self.problem), ""
        if self.known.trusted:
            # A foreign kernel may transform, so no count of its FLOPs bounds it.
            rates, traffic = (math.inf, roof.bandwidth_gbps), Traffic.of(self.problem)
            cache = device.cache_bytes
            below = below_floor(self.problem, traffic, *rates, time, self.cold, cache)
        share = f"{100 * floor / time.median:.3g} % of the roof"
        if below:
            self.findings.failed("floor", below)
        elif time.median < floor:
            self.findings.passed(
                "floor", f"{share}: effective; a transform saves work, or the caches help"
            )
        else:
            self.findings.passed("floor", share)
        return floor

    def _gpu(self) -> Description | None:
        return None if self.kernel.kind == "cpu" else open_gpu(self.kernel.device).description
