"""The audit of a foreign kernel: is it right, is it honest, how fast, how far from the roof."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rooftile.devices.gpu import Description
from rooftile.devices.select import open_device, open_gpu
from rooftile.lab.audit.checks.contents import families
from rooftile.lab.audit.checks.judge import Judge
from rooftile.lab.audit.checks.library import Inspection
from rooftile.lab.audit.checks.races import look_for_races
from rooftile.lab.audit.checks.replays import Replays
from rooftile.lab.audit.checks.rounding import check_claim
from rooftile.lab.audit.checks.speed import Speed
from rooftile.lab.audit.checks.trials import Trials
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.outcome import MOST_SHARE, Audit
from rooftile.lab.audit.process.arena import layout
from rooftile.lab.audit.process.child import Complained, Died
from rooftile.lab.audit.process.session import Arrays, OutOfTime, Session, slots_for
from rooftile.lab.measure.ceilings.cpu import Roof
from rooftile.lab.measure.ceilings.known import Known, known_roof
from rooftile.lab.measure.contest import VERIFIED_ITEMS
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.floor import Traffic, below_floor
from rooftile.lab.measure.progress import PartLines, Progress
from rooftile.lab.measure.records import Error, KernelResources
from rooftile.ops import Problem
from rooftile.ops.checks import check_limit, check_seed
from rooftile.ops.nearby import drawn
from rooftile.runtime.timing.host import Timing, timing_of

_STEPS, _TEXT_STEPS = 8, 9
"""Number of steps that an audit of a Python kernel reports, and one of a text."""
REQUIRED = (
    "PID namespace", "mount namespace", "network namespace", "IPC namespace",
    "read-only files", "own /dev", "own /proc", "private scratch", "hidden rooftile",
    "no_new_privs", "seccomp",
)  # fmt: skip
"""The walls that ``require_isolation`` requires."""
_DRAWN, _DRAWN_CALLS, _BATCHES = 3, 64, (65, 130)
"""Number of drawn sizes, number of calls of the least problem in one request, and the batches that
are drawn for it."""
_OF_RACES = ("precision", "repeatable", "cache", "seed", "stale")
"""What wrong results of a race may look like."""
_NOT_OF_TEXTS = ("infinities", "NaN", "NaN that is added")
_TELLING = 16
"""Elements of an item from which on a wrong one shows."""
_TRIAL_FLOPS = 2 * 10**9
"""FLOPs of a trial, where the problem can be made so small: a reference takes about a second."""


class UnusableKernel(Exception):
    """The kernel cannot be called: its signature or its file does not allow it.

    This is a wrong use, not a verdict.
    """


class NotIsolated(Exception):
    """Isolation was required, and the machine does not provide it."""


def audit(
    kernel: Foreign,
    problem: Problem,
    *,
    precision: str = "ieee",
    allow_library: bool = False,
    fixed_shape: bool = False,
    deterministic: bool = True,
    limit_s: float = 40.0,
    seed: int = 0,
    require_isolation: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Judge a foreign kernel on a problem.

    ``precision`` is what the kernel claims, see `rooftile.lab.audit.checks.rounding.CLAIMS`.
    ``fixed_shape`` says that it is made for this problem's shape alone; ``deterministic=False``
    that two runs may differ in their last bits.  ``limit_s`` bounds the seconds of all requests to
    its process together, and the processor's seconds of the judge's own work.
    ``seed`` makes the inputs that anybody may know; the others are secret.  ``require_isolation``
    refuses to judge a Python kernel, or a text on a processor, whose process the machine does not
    let us isolate.

    Raises `InputError`, `DeviceMissing`, `NotIsolated`, and `UnusableKernel` for a file or a
    function that cannot be called.  Whatever the kernel does is a verdict, not an exception.
    """
    check_claim(precision)
    check_limit(limit_s)
    check_seed(seed)
    return _Audit(
        kernel,
        problem,
        precision,
        allow_library,
        fixed_shape,
        deterministic,
        limit_s,
        seed,
        require_isolation,
        PartLines(progress or (lambda line: None), "step", _TEXT_STEPS if kernel.text else _STEPS),
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
    require_isolation: bool
    report: PartLines

    def run(self) -> Audit:
        """Make every trial in turn; one that breaks the process is the last."""
        self.findings = Findings()
        self.first_ms: float | None = None
        self.time: Timing | None = None
        self.cold: Timing | None = None
        self.limit: str | None = None
        self.noise: str | None = None
        self.known: Known | None = None
        self.resources = KernelResources()
        self.speed: Speed | None = None
        self.drawn = self._drawn()
        self.larger = [] if self.fixed_shape else self.problem.larger(np.random.default_rng())
        with Session(self.kernel, self._bytes(), self.limit_s) as session:
            isolation = session.child.isolation
            if self.require_isolation:
                self._check_isolation(session)
            judge = Judge(session, self.findings, self.claim)
            self._judged(session, judge)
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
            isolation,
            *self._apart(),
        )

    def _judged(self, session: Session, judge: Judge) -> None:
        """Make the trials, and say what ended them."""
        try:
            self._trials(session, judge)
            self.findings.passed("runs")
        except OutOfTime:
            self.findings.failed(
                "runs",
                f"the judge's own work took more than {self.limit_s:g} s, and nothing wrong "
                "was found until then: a larger --limit lets it come to an end",
            )
        except Died as error:
            self.findings.failed("runs", f"it {error}")
            if session.torn:
                self.findings.failed("bounds", "it wrote before or after its output, and ended")
            if self.kernel.text and self.findings.status("races") is None:
                look_for_races(self.kernel, self._few(), self.findings, self.limit_s)
        except Complained as error:
            if error.kind == "usage":
                raise UnusableKernel(error.what) from None
            self.findings.failed(*_complaint(error))
        if self.findings.status("races") == "failed":
            self.findings.withdraw(_OF_RACES, "its threads race, see there")

    def _check_isolation(self, session: Session) -> None:
        isolation = session.child.isolation
        if {*REQUIRED} - {*isolation.in_force} and not session.device_clock:
            raise NotIsolated(f"required isolation is not to be had: {isolation}")

    def _apart(self) -> tuple[Timing | None, tuple[tuple[Problem, float], ...]]:
        """The times on hard inputs, and those at sizes that were drawn."""
        if self.speed is None or not self.findings.right:
            return None, ()
        hard = self.speed.hard_s
        near = tuple((problem, 1e3 * seconds) for problem, seconds in self.speed.near_s)
        return (timing_of(hard) if hard else None), near

    def _trials(self, session: Session, judge: Judge) -> None:
        trials = Trials(session, judge, self.findings, self.seed, self.deterministic)
        self.report.next("loading")
        session.load()
        small = self._small()
        self.report.next("results on known and on secret inputs")
        first_s = trials.values(small)
        if self.kernel.text:
            self.report.next("races")
            look_for_races(self.kernel, self._few(), self.findings, self.limit_s)
        else:
            self.findings.skipped("races", "it is no text whose threads could be watched")
        if first_s is None:
            trials.elsewhere()
            return
        self.first_ms = 1e3 * first_s
        trials.order(small)
        self.report.next("hard inputs")
        exact = self.claim == "ieee" and not self.allow_library
        if not trials.families(small, self._hard(small, exact)):
            return
        self.report.next("contents that come again")
        trials.before(small)
        if not session.device_clock:
            Replays(session, judge, self.findings).look(small)
        if not self.findings.right:
            return
        self.report.next("other shapes")
        trials.shapes(self.problem, self.larger, self.fixed_shape)
        if not self.findings.right:
            return
        self.report.next("many calls at sizes that were drawn")
        if not all(trials.many(*one) for one in self.drawn):
            return
        if session.device_clock:
            for name in ("lazy", "timers", "processes", "library", "reference"):
                self.findings.skipped(name, "a kernel's text runs on the device alone")
        else:
            self.findings.passed("reference", "rooftile is not there to be called")
        self._timed(session, judge, exact)
        if self.time is not None:
            trials.after()

    def _timed(self, session: Session, judge: Judge, exact: bool) -> None:
        """Time it, and look who does the work."""
        self.report.next("timing")
        odd = self._hard(self.problem, exact) if self.problem.flops <= _TRIAL_FLOPS else {}
        nearby = [problem for problem, _ in self.drawn]
        self.speed = speed = Speed(session, judge, self.findings, list(odd.values()), nearby)
        inspection = Inspection(session, self.findings, self.allow_library)
        self.time = speed.measure(self.problem)
        if self.time is None:
            return
        self.cold, self.resources = speed.cold, speed.resources
        self.noise = session.child.noise  # Later output may be a profiler's.
        if not session.device_clock:
            self.report.next("who does the work")
            inspection.look(speed)

    def _hard(self, problem: Problem, exact: bool) -> dict[str, Callable[[], Arrays]]:
        """What makes hard inputs.  A text is asked no NaN and nothing that becomes one: ``fmax``
        drops it, which is the usual way to write a ReLU there."""
        found = families(problem, not exact)
        kept = _NOT_OF_TEXTS if self.kernel.text else ()
        return {kind: make for kind, make in found.items() if kind not in kept}

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

    def _drawn(self) -> list[tuple[Problem, int]]:
        """Problems of sizes that nobody knows, and how often each is called."""
        if self.fixed_shape:
            return []
        generator, small = np.random.default_rng(), self._small()
        found = [(one, 1) for one in drawn(small, generator, _DRAWN)]
        kinds = (*small.neighbours(), *small.smallest())
        telling = [one for one in kinds if one.output_arrays[0].item_size >= _TELLING]
        if telling:
            least = min(telling, key=lambda one: one.flops / (one.batch_size or 1))
            if least.batch_size is not None:
                least = least.with_batch(int(generator.integers(*_BATCHES)))
            if least.flops * _DRAWN_CALLS <= _TRIAL_FLOPS:
                found.append((least, _DRAWN_CALLS))
        return found

    def _bytes(self) -> int:
        problems = [(one, max(3, slots_for(one))) for one in (self.problem, self._small())]
        if not self.fixed_shape:
            problems += [(p, 1) for p in (*self.problem.neighbours(), *self.problem.smallest())]
            problems += [(p, 1) for p in self.larger]
        problems += [(p, max(calls, slots_for(p))) for p, calls in self.drawn]
        return max(layout(p, slots, self.kernel.memory)[1] for p, slots in problems)

    def _floor(self, time: Timing) -> float | None:
        """The least time in milliseconds; a time in which the bytes cannot move is a failure."""
        device = open_device(self.kernel.device)
        self.known = known_roof(device, self.report)
        if self.known.roof and self._share(self.known.roof, time) > MOST_SHARE:
            # Such ceilings are measured again, also where another process wrote them.
            self.known = known_roof(device, self.report, refresh=True)
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
        above = self._share(roof, time)
        share = f"{100 * above:.3g} % of the roof" if above <= MOST_SHARE else "above the roof"
        if below:
            self.findings.failed("floor", below)
        elif time.median < floor:
            self.findings.passed(
                "floor", f"{share}: effective; a transform saves work, or the caches help"
            )
        else:
            self.findings.passed("floor", share)
        return floor

    def _share(self, roof: Roof, time: Timing) -> float:
        """The floor over the median time."""
        return roof.floor_ms(self.problem) / time.median

    def _gpu(self) -> Description | None:
        return None if self.kernel.kind == "cpu" else open_gpu(self.kernel.device).description


def _complaint(error: Complained) -> tuple[str, str]:
    """The check that an error belongs to, and its evidence."""
    asked = re.search(r"(No module named|import of|module) '?rooftile", error.what)
    return "reference" if asked else "runs", f"in its own words: {error.what}"
