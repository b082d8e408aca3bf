"""A submission, run in a process of its own on every data set of a lab, and compared.

The process, its walls, its poisoned and guarded outputs are `rooftile.lab.audit`'s.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rooftile.devices.ceilings import cpu_name
from rooftile.errors import InputError
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.process.arena import layout
from rooftile.lab.audit.process.child import Complained, Died
from rooftile.lab.audit.process.session import Run, Session
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.history.store import History
from rooftile.lab.measure.records import Error, Row, plain
from rooftile.runtime.timing.host import Timing
from rooftile_papers.coursework.labs import Case

COMMAND = "submit"
"""The command of a submission's records in the history."""
_CALLS = 5


@dataclass(frozen=True)
class Grade:
    """A submission's result on one data set."""

    case: Case
    reason: str
    """Why it did not pass; empty where it did."""
    time_ms: Timing | None
    """Of calls by the judge's clock; None unless it passed."""

    @property
    def passed(self) -> bool:
        """True if its result was right, and nothing else was touched."""
        return not self.reason


def grade(kernel: Foreign, cases: Sequence[Case], *, limit_s: float = 20.0) -> list[Grade]:
    """Run a submission on each data set; one that breaks it fails it, and those after it.

    Raises `InputError` for a file that has no such function, or a launch that does not fit.
    """
    most = max(layout(case.problem, 1, kernel.memory)[1] for case in cases)
    grades: list[Grade] = []
    with Session(kernel, most, limit_s) as session:
        try:
            session.load()
            for case in cases:
                grades = [*grades, _graded(session, case)]
        except Died as error:
            grades += [Grade(case, f"it {error}", None) for case in cases[len(grades) :]]
        except Complained as error:
            if error.kind == "usage":
                raise InputError("kernel", kernel.name, error.what) from None
            grades += [Grade(case, error.what, None) for case in cases[len(grades) :]]
    return grades


def _graded(session: Session, case: Case) -> Grade:
    session.lay(case.problem)
    session.write(0, case.given)
    times: list[float] = []
    for _ in range(_CALLS):
        run = session.run((0,))
        reason = _wrong(run, case)
        if reason:
            return Grade(case, reason, None)
        times.append(1e3 * run.wall_s)
    ordered = sorted(times)
    timing = Timing(
        statistics.median(times),
        ordered[1],
        ordered[-2],
        ordered[0],
        len(times),
        False,
        samples=tuple(times),
    )
    return Grade(case, "", timing)


def _wrong(run: Run, case: Case) -> str:
    seen = run.seen[0]
    if seen.altered:
        return f"it changed {', '.join(seen.altered)}"
    if not seen.intact:
        return "it wrote before or after its output"
    if not case.agrees(seen.outs[0]):
        return "the result is wrong"
    return ""


def keep(history: History, lab: str, name: str, kernel: Foreign, grades: Sequence[Grade]) -> str:
    """Write a submission's grades as one run of the history; returns the run."""
    found = plain({**vars(environment()), "lab": lab})
    run = history.begin(COMMAND, kernel.device, cpu_name(), found)
    for one in grades:
        median = one.time_ms.median if one.time_ms else None
        row = Row(
            "peer",
            name,
            kernel.device,
            "ieee",
            "passed" if median else "failed",
            one.reason,
            error=Error(0.0, 0.0, 0.0) if median else None,
            time_ms=one.time_ms,
            gflops=1e-6 * one.case.problem.flops / median if median else None,
            gbps=1e-6 * one.case.problem.bytes / median if median else None,
            cause="" if median else "wrong",
        )
        history.add(run, one.case.problem, row, fingerprint=_mark(lab, one.case.name))
    return run.id


def _mark(lab: str, case: str) -> str:
    return f"{lab}/{case}"
