"""How long a foreign kernel takes, by the judge's clock and on inputs that are always new.

A sample is a request to call the kernel on several sets of arrays, filled with new contents
while its process was frozen; the clock runs from thawing it until its answer, which counts
only because the results are there: some are compared with the reference, chosen afterwards.
So a time is never too short.  It holds what a caller pays: the launch, the wait for the
device, the delivery of a returned result.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.judge import Judge
from rooftile.lab.audit.session import Arrays, Run, Session, slots_for
from rooftile.lab.measure import Timing, is_steady, timing_of
from rooftile.ops import Problem

_WINDOW_S = 0.02
"""A sample lasts about this long, where the slots suffice: an answer's way takes 0.1 ms."""
_SECONDS = 3.0
_LEAST, _MOST = 5, 40
_CHECKED_FLOPS = 2 * 10**9
"""Results of more work than this are compared in single images."""
_AGREE, _SLACK_S = 0.5, 5e-3
"""Clocks agree when one says at least this share of the other's time."""
_EVENTS_AGREE, _EVENT_SLACK_S = 0.1, 2e-3


@dataclass
class Speed:
    """The timing of one kernel that was right."""

    session: Session
    judge: Judge
    findings: Findings
    runs: list[Run] = field(default_factory=list)

    def measure(self, problem: Problem) -> Timing | None:
        """The time of a call in milliseconds; None when a result of a timed call was wrong."""
        session, slots = self.session, slots_for(problem)
        session.lay(problem, slots)
        generator = np.random.default_rng()
        arrays = [session.fresh() for _ in range(slots)]
        once = self._sample(arrays[:1]).wall_s
        once = min(once, self._sample(arrays[:1]).wall_s)
        count = max(1, min(slots, round(_WINDOW_S / once)))
        self._sample(arrays[:count])
        times: list[float] = []
        start = time.perf_counter()
        while len(times) < _MOST:
            given = [_renewed(one, generator) for one in arrays[:count]]
            run = self._sample(given, phase="timed")
            self.runs.append(run)
            times.append(run.wall_s / count)
            if not self._right(problem, run, given, generator):
                return None
            spent = time.perf_counter() - start
            if len(times) >= _LEAST and (is_steady(times) or spent > _SECONDS):
                break
        self._clocks()
        return timing_of(times)

    def _sample(self, arrays: list[Arrays], phase: str = "run") -> Run:
        for slot, one in enumerate(arrays):
            self.session.write(slot, one)
        return self.session.run(range(len(arrays)), phase=phase)

    def _right(
        self, problem: Problem, run: Run, given: list[Arrays], generator: np.random.Generator
    ) -> bool:
        """Look for poison everywhere, and compare a few images of one result."""
        for slot, seen in enumerate(run.seen):
            if np.isnan(seen.out).any() or not seen.intact or seen.altered:
                return self.judge.judge(run, slot, given[slot], "in a timed call")
        slot = int(generator.integers(len(given)))
        x, *parameters = given[slot]
        images = max(1, min(problem.batch, int(_CHECKED_FLOPS * problem.batch / problem.flops)))
        chosen = np.sort(generator.choice(problem.batch, images, replace=False))
        right = self.judge.agrees(run.seen[slot].out[chosen], (x[chosen], *parameters))
        if not right:
            self.judge.judge(run, slot, given[slot], "in a timed call")
        return right

    def _clocks(self) -> None:
        """What the process's clocks said, against the judge's."""
        told = [(run.wall_s, _number(run.told.get("seconds"))) for run in self.runs]
        short = min(wall - said for wall, said in told)
        if not any(said >= _AGREE * wall - _SLACK_S for wall, said in told):
            self._contradict("its clock", short)
        if not any(said <= 1.1 * wall + _SLACK_S for wall, said in told):
            self.findings.failed("timers", f"its clock ran {-1e3 * short:.3g} ms longer than ours")
        for name, what in (("library_s", "the library's events"), ("event_s", "the driver's")):
            if self.session.kernel.kind != "cuda":
                continue
            pairs = [(run.wall_s, _number(run.told.get(name))) for run in self.runs]
            least = 1 - _EVENTS_AGREE
            if not any(said >= least * wall - _EVENT_SLACK_S for wall, said in pairs):
                self._contradict(what, min(wall - said for wall, said in pairs))
        self.findings.passed("timers")

    def _contradict(self, what: str, seconds: float) -> None:
        self.findings.failed(
            "timers", f"in every sample {what} missed at least {1e3 * seconds:.3g} ms of the time"
        )


def _renewed(arrays: Arrays, generator: np.random.Generator) -> Arrays:
    """New contents for about the price of a copy: images in another order, all values scaled."""
    x, *parameters = arrays
    factor = np.float32(generator.uniform(0.7, 1.4))
    order = generator.permutation(len(x))
    changed = x[order] * factor
    changed.reshape(-1)[generator.integers(changed.size)] += np.float32(1.0)
    scale = np.float32(generator.uniform(0.7, 1.4))
    return (changed, *(p * scale for p in parameters))


def _number(value: object) -> float:
    known = isinstance(value, int | float) and math.isfinite(value)
    return float(value) if known else 0.0  # type: ignore[arg-type]
