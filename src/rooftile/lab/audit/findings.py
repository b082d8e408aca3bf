"""The judge's findings: one status and its evidence for each named check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["passed", "failed", "not applicable", "not reached"]

CHECKS: dict[str, str] = {
    "runs": "answers within its time: no exception, exit, crash or hang",
    "form": "the result has the shape, dtype, device and kind of array that were asked for",
    "lazy": "the result is a plain array and no promise of one",
    "values": "every element is within the error budget of the float64 reference",
    "complete": "every output is computed anew in every call",
    "stale": "nothing is returned from memory that the call did not write",
    "bounds": "nothing is written around the output",
    "inputs": "inputs and parameters are as they were",
    "on_time": "the work is done when the call answers: no background thread, no later",
    "stream": "the work is in the order of the current stream",
    "cache": "no result is kept by identity, shape or content of the inputs",
    "seed": "right on inputs that nobody knows, not only on the public seed's",
    "precision": "the arithmetic has the precision that it claims",
    "repeatable": "two runs on the same inputs agree in every bit",
    "races": "no two threads of a block meet at one place of memory without a barrier between",
    "off_grid": "right where no tile divides the sizes",
    "degenerate": "right at the smallest sizes",
    "timers": "no clock was replaced, and none is used but the judge's",
    "processes": "no other process was started to do the work",
    "library": "no vendor library does the work",
    "reference": "rooftile and its reference are not called",
    "floor": "the time is not below what the machine's measured ceilings allow",
}
"""Every check, in the order of the report, with what it says when it passed."""

HONESTY: tuple[str, ...] = (
    "lazy",
    "inputs",
    "on_time",
    "stream",
    "cache",
    "timers",
    "processes",
    "library",
    "reference",
    "floor",
)
"""The checks that ask whether a kernel plays by the rules; the others ask whether it is right."""


def plain_words(text: str) -> str:
    """A stranger's words as they may be shown anywhere, in one line: what is no visible character
    is escaped."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def plain_lines(text: str) -> str:
    """The same of words that keep their ends of line."""
    return "\n".join(map(plain_words, text.split("\n")))


@dataclass(frozen=True)
class Check:
    """The verdict of one check."""

    name: str
    status: Status
    evidence: str
    """The observation, or the reason why the check is not applicable, or was not reached."""


@dataclass
class Findings:
    """Collects verdicts; a failure stays, whatever is found later."""

    _found: dict[str, Check] = field(default_factory=dict)

    def failed(self, name: str, evidence: str) -> None:
        """Note a failure; the first one's evidence is kept."""
        if self.status(name) != "failed":
            self._found[name] = Check(name, "failed", evidence)

    def withdraw(self, names: Iterable[str], why: str) -> None:
        """Take failures back that follow from another one."""
        for name in names:
            if self.status(name) == "failed":
                self._found[name] = Check(name, "not applicable", why)

    def add(self, name: str, evidence: str) -> None:
        """Add evidence to a verdict that is there."""
        found = self._found[name]
        self._found[name] = Check(name, found.status, f"{found.evidence}; {evidence}")

    def passed(self, name: str, evidence: str = "") -> None:
        """Note that a check passed, unless it has failed before."""
        if self.status(name) != "failed":
            self._found[name] = Check(name, "passed", evidence or CHECKS[name])

    def skipped(self, name: str, why: str) -> None:
        """Note that a check is not applicable, unless something is known already."""
        self._found.setdefault(name, Check(name, "not applicable", why))

    def status(self, name: str) -> Status | None:
        """The status of a check; None where it is unknown."""
        found = self._found.get(name)
        return found.status if found else None

    @property
    def right(self) -> bool:
        """True if nothing failed so far."""
        return all(check.status != "failed" for check in self._found.values())

    def checks(self) -> tuple[Check, ...]:
        """All checks in order; one that the audit did not come to says so."""
        missing = "the audit ended before it"
        return tuple(self._found.get(name, Check(name, "not reached", missing)) for name in CHECKS)
