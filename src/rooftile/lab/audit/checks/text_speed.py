"""How long a text's kernel takes: warm and cold launches by the device's clock.

Inputs and results lie in the device's memory.  Before each cold launch the result is poisoned,
and afterwards it is compared with the one that was judged.  So a launch that does nothing, because
there is a result already, is found out.

The device's clock is read in the text's process.  On a processor the text is a program like any
other there, and might forge what that process says; so the judge's own clock sees some launches
too, and the two must agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rooftile.lab.audit.checks.judge import Judge
from rooftile.lab.audit.findings import Findings, plain_words
from rooftile.lab.audit.isolation.processes import ended_children
from rooftile.lab.audit.process.session import Session
from rooftile.lab.measure.records import KernelResources
from rooftile.ops import Problem
from rooftile.runtime.timing.host import Timing

SECONDS = 1.0
"""The process that holds the text samples for as long, or until the samples are steady."""
_WINDOW_S, _MOST_LAUNCHES, _TURNS = 0.02, 100, 4
"""The judge times launches of about so many seconds, at most so many, and so often."""
_LAUNCH_S = 2e-4
"""Seconds of the host that a launch may take."""
_TIMES_LONGER = 2.0
"""On a busy machine a launch may take so many times longer than it did before."""


@dataclass
class TextSpeed:
    """The timing of one text that was right."""

    session: Session
    judge: Judge
    findings: Findings
    warm: Timing | None = None
    cold: Timing | None = None
    resources: KernelResources = field(default_factory=KernelResources)

    def measure(self, problem: Problem) -> None:
        """Judge a whole batch, time launches on it, and judge another."""
        self.session.lay(problem)
        if not self._right("before it was timed"):
            return
        told = self.session.child.ask({"do": "time", "seconds": SECONDS})[0]
        if not plausible(told.numbers):
            self.findings.failed("runs", "it answered with something that is no answer")
            return
        wrong, *numbers = told.numbers
        if told.text:
            self.findings.failed("on_time", plain_words(told.text))
        if wrong:
            self.findings.failed("complete", f"{wrong:g} of the timed launches left another result")
        if self._right("after it was timed") and self._agrees(1e-3 * numbers[0]):
            self.warm, self.cold = _timing(numbers[:7]), _timing(numbers[7:14])
            self.resources = _resources(numbers[14:])

    def _agrees(self, launch_s: float) -> bool:
        """Whether launches that the judge times take about as long as it was told, and start no
        other process."""
        child, seen = self.session.child, []
        count = max(2, min(_MOST_LAUNCHES, round(_WINDOW_S / max(launch_s, _LAUNCH_S))))
        started = ended_children(child.pid)
        for _ in range(_TURNS):
            # What is not the launches' time is in both.
            one, all_ = (self.session.run([0], times=times).wall_s for times in (1, count))
            seen.append((all_ - one) / (count - 1))
        if child.others or ended_children(child.pid) > started:
            self.findings.failed("processes", "others were started by a launch")
        if min(seen) > _TIMES_LONGER * launch_s + _LAUNCH_S:
            self.findings.failed(
                "timers",
                f"its process says {1e3 * launch_s:.3g} ms a launch; by the judge's clock it is "
                f"{1e3 * min(seen):.3g} ms",
            )
        return self.findings.right

    def _right(self, what: str) -> bool:
        arrays = self.session.fresh()
        self.session.write(0, arrays)
        return self.judge.judge(self.session.run([0]), 0, arrays, what)


def plausible(numbers: Sequence[float]) -> bool:
    """Whether these are what was asked for: the wrong launches, two timings, the resources."""
    timings = [numbers[1 + i : 7 + i] for i in (0, 7)]
    return (
        len(numbers) == 19
        and not any(map(math.isinf, numbers))
        and not any(map(math.isnan, [numbers[0], *timings[0], *timings[1]]))
        and all(number > 0 for timing in timings for number in timing[:5])
    )


def _timing(numbers: Sequence[float]) -> Timing:
    median, p20, p80, least, n, steady, share = numbers
    waited = None if math.isnan(share) else share
    return Timing(median, p20, p80, least, int(n), bool(steady), waited=waited)


def _resources(numbers: Sequence[float]) -> KernelResources:
    """What is not known was told as NaN."""
    registers, shared, spilled = map(_count, numbers[:3])
    return KernelResources(
        registers, shared, spilled, None if math.isnan(numbers[3]) else numbers[3]
    )


def _count(number: float) -> int | None:
    return None if math.isnan(number) else int(number)
