"""How long a text's kernel takes: warm and cold launches by the device's clock.

Inputs and results lie in the device's memory.  Before each cold launch the result is poisoned,
and afterwards it is compared with the one that was judged.  So a launch that does nothing, because
there is a result already, is found out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rooftile.lab.audit.findings import Findings, plain_words
from rooftile.lab.audit.judge import Judge
from rooftile.lab.audit.session import Session
from rooftile.lab.records import Resources
from rooftile.ops import Problem
from rooftile.runtime.timing.host import Timing


@dataclass
class TextSpeed:
    """The timing of one text that was right."""

    session: Session
    judge: Judge
    findings: Findings
    warm: Timing | None = None
    cold: Timing | None = None
    resources: Resources = field(default_factory=Resources)

    def measure(self, problem: Problem) -> None:
        """Judge a whole batch, time launches on it, and judge another."""
        self.session.lay(problem)
        if not self._right("before it was timed"):
            return
        told = self.session.child.ask({"do": "time"})[0]
        wrong, *numbers = told.numbers
        if told.text:
            self.findings.failed("on_time", plain_words(told.text))
        if wrong:
            self.findings.failed("complete", f"{wrong:g} of the timed launches left another result")
        if self._right("after it was timed"):
            self.warm, self.cold = _timing(numbers[:7]), _timing(numbers[7:14])
            self.resources = _resources(numbers[14:])

    def _right(self, what: str) -> bool:
        arrays = self.session.fresh()
        self.session.write(0, arrays)
        return self.judge.judge(self.session.run([0]), 0, arrays, what)


def _timing(numbers: Sequence[float]) -> Timing:
    median, p20, p80, least, n, steady, share = numbers
    waited = None if math.isnan(share) else share
    return Timing(median, p20, p80, least, int(n), bool(steady), waited=waited)


def _resources(numbers: Sequence[float]) -> Resources:
    """What is not known was told as NaN."""
    registers, shared, spilled = map(_count, numbers[:3])
    return Resources(registers, shared, spilled, None if math.isnan(numbers[3]) else numbers[3])


def _count(number: float) -> int | None:
    return None if math.isnan(number) else int(number)
