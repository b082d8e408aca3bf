"""Is a result right, and if not: in what way is it wrong?  Each way has a check's name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.arena import HEAP_POISON, POISON
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.rounding import CLAIMS, ROUNDINGS
from rooftile.lab.audit.session import Arrays, Run, Session
from rooftile.lab.expected import Expected, Verdict
from rooftile.ops import ErrorModel, Float32, Problem

_MOST = 0.99
"""Nearly all of the wrong elements: a few may be right by chance."""
_SHAPES = ("off_grid", "degenerate")
"""What is wrong only at a shape is filed under that."""
_DISTINCT = 4
_MANY = 0.05
"""A lower precision shows in at least this share of the elements."""


@dataclass
class Judge:
    """Compares results with the reference and names what is wrong."""

    session: Session
    findings: Findings
    claim: str
    worst: Verdict | None = None
    """Of all results that were right."""

    def judge(self, run: Run, index: int, arrays: Arrays, what: str, check: str = "") -> bool:
        """Whether one of a run's results, that of its slot ``index``, is right.

        ``what`` says in the evidence which call it was.  ``check`` is the name under which a
        result is filed whose way of being wrong is not recognised.
        """
        seen, session = run.seen[index], self.session
        problem = session.problem
        assert problem is not None
        strange = run.told.get("strange")
        if isinstance(strange, dict):
            kind = "lazy" if strange.get("kind") == "lazy" else "form"
            self.findings.failed(kind, f"{what}: it returned {strange.get('what')}")
        if seen.altered:
            self.findings.failed("inputs", f"{what}: it changed {', '.join(seen.altered)}")
        if not seen.intact:
            self.findings.failed("bounds", f"{what}: it wrote before or after its output")
        expected = Expected(problem, *arrays)
        verdict = expected.judge(seen.out, CLAIMS[self.claim])
        if verdict.passed:
            if self.worst is None or verdict.budget_fraction > self.worst.budget_fraction:
                self.worst = verdict
        elif not isinstance(strange, dict):
            self._name(verdict, seen.out, arrays, run.slots[index], what, check)
        session.remember(seen.out)
        return verdict.passed

    def agrees(self, out: Float32, arrays: Arrays) -> bool:
        """Whether a result is right, without naming what is wrong."""
        problem = self.session.problem
        assert problem is not None
        return Expected(problem, *arrays).judge(out, CLAIMS[self.claim]).passed

    def _name(
        self, verdict: Verdict, out: Float32, arrays: Arrays, slot: int, what: str, check: str
    ) -> None:
        problem = self.session.problem
        assert problem is not None
        wrong = _wrong(problem, out, arrays, CLAIMS[self.claim])
        name, evidence = (
            self._late(out, arrays, slot)
            or _unwritten(out, wrong)
            or self._kept(out, wrong)
            or _lowered(problem, out, wrong, arrays, self.claim)
            or _repeated(out, wrong)
            or (check or "values", f"{verdict.reason}; {_worst(verdict)}")
        )
        if check in _SHAPES and name != check:
            name, evidence = check, f"{name}: {evidence}"
        self.findings.failed(name, f"{what}: {evidence}")

    def _late(self, out: Float32, arrays: Arrays, slot: int) -> tuple[str, str] | None:
        later = self.session.later(slot)
        changed = int((later.view(np.uint32) != out.view(np.uint32)).sum())
        if not changed:
            return None
        end = "right some time later" if self.agrees(later, arrays) else "still changing"
        return "on_time", (
            f"{changed} of {out.size} elements were written after it had answered; "
            f"the result was {end}"
        )

    def _kept(self, out: Float32, wrong: NDArray[np.bool_]) -> tuple[str, str] | None:
        if len(np.unique(out[wrong])) < _DISTINCT:
            return None  # A constant comes again by itself.
        for back, old in enumerate(reversed(self.session.earlier), 1):
            if old.shape == out.shape and (old[wrong] == out[wrong]).mean() >= _MOST:
                return "cache", f"it returned the result of {back} calls before, for other inputs"
        return None


def _wrong(problem: Problem, out: Float32, arrays: Arrays, model: ErrorModel) -> NDArray[np.bool_]:
    """Which elements are outside of their budget, roughly: against the largest of their image."""
    reference = problem.reference(*arrays)
    magnitude = problem.magnitude(*arrays)
    with np.errstate(invalid="ignore"):
        error = np.abs(out - reference)
    budget = model.factor * model.unit * np.sqrt(problem.reduction) * magnitude + 1e-30
    wrong: NDArray[np.bool_] = ~(error <= budget)
    return wrong


def _unwritten(out: Float32, wrong: NDArray[np.bool_]) -> tuple[str, str] | None:
    bits = out.view(np.uint32)
    poison = int((bits == POISON).sum())
    if poison:
        return "complete", f"{poison} of {out.size} elements were not written"
    heap = int((bits == HEAP_POISON).sum())
    if heap:
        return "stale", f"{heap} of {out.size} elements are what lay in its memory before the call"
    if (out[wrong] == 0).mean() >= _MOST:
        return "complete", f"{int(wrong.sum())} of {out.size} elements are zero and should not be"
    return None


def _repeated(out: Float32, wrong: NDArray[np.bool_]) -> tuple[str, str] | None:
    """Images that are copies of other images."""
    if len(out) < 2:
        return None
    rows = out.reshape(len(out), -1)
    bad = np.flatnonzero(wrong.reshape(len(out), -1).any(axis=1))
    good = np.setdiff1d(np.arange(len(out)), bad)
    for image in bad:
        written = rows[image] != 0
        if len(np.unique(rows[image][written])) < _DISTINCT:
            continue
        for other in good:
            if (rows[image] == rows[other])[written].mean() >= _MOST:
                return "complete", f"{len(bad)} of {len(out)} images are copies of other images"
    return None


def _lowered(
    problem: Problem, out: Float32, wrong: NDArray[np.bool_], arrays: Arrays, claim: str
) -> tuple[str, str] | None:
    """Whether the error is that of a lower precision."""
    model = CLAIMS[claim]
    if wrong.mean() < _MANY:
        return None
    for name, rounded in ROUNDINGS.items():
        for given in ((*map(rounded, arrays),), (*map(rounded, arrays[:2]), *arrays[2:])):
            if Expected(problem, *given).judge(out, model).passed:
                return "precision", (
                    f"claimed is {claim}; it is the result for inputs rounded to {name}"
                )
    for name in ("fp16", "bf16"):
        lower = CLAIMS[name]
        if lower.unit > model.unit and Expected(problem, *arrays).judge(out, lower).passed:
            return "precision", (
                f"claimed is {claim}; its errors are those of arithmetic with "
                f"{11 if name == 'fp16' else 8} significant bits"
            )
    return None


def _worst(verdict: Verdict) -> str:
    if not verdict.index:
        return "nothing to compare"
    return (
        f"the worst is {verdict.index}: {verdict.got:.9g} where the reference has "
        f"{verdict.expected:.9g}, budget {verdict.budget:.2g}"
    )
