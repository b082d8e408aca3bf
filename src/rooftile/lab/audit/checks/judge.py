"""Is a result right, and if not, in what way is it wrong?  Each way has the name of a check."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.checks.errors import rounded_operands, too_large
from rooftile.lab.audit.checks.rounding import CLAIMS, ROUNDINGS
from rooftile.lab.audit.findings import Findings, plain_words
from rooftile.lab.audit.poison import SURE_BITS, bits, heap_bits, strength, too_many
from rooftile.lab.audit.process.session import Arrays, Earlier, Run, Seen, Session
from rooftile.lab.judge.compare import budget_of, compare
from rooftile.lab.judge.exam import same_bits
from rooftile.lab.judge.expected import Expected, Verdict
from rooftile.ops import FORMATS, AnyArray, Array, ErrorModel, Problem
from rooftile.ops.judgement import Budget, Exact, Judgement, Unordered
from rooftile.ops.problem import outputs_of

_MOST = 0.99
"""The share of the wrong elements that counts as all: a few may be right by chance."""
_DISTINCT = 4
"""Fewer different values than this may be alike by chance."""
_MANY = 0.05
"""A lower precision shows in at least this share of the elements."""

_Named = tuple[str, str] | None
"""The check and the evidence."""


@dataclass(frozen=True)
class Wrong:
    """An output some of whose elements are wrong."""

    output: Array
    index: int
    """The index of the problem's output."""
    out: AnyArray
    elements: NDArray[np.bool_]
    left: NDArray[np.bool_]
    """True for elements that hold their poison."""


@dataclass
class Judge:
    """Compares results with the reference and names what is wrong."""

    session: Session
    findings: Findings
    claim: str
    worst: Verdict | None = None
    """The verdict with the largest error among results that were right."""

    def judge(
        self,
        run: Run,
        index: int,
        arrays: Arrays,
        what: str,
        check: str = "",
        always: bool = False,
    ) -> bool:
        """True if one of a run's results, in its slot ``index``, is right.

        ``what`` names the call in the evidence. A wrong result of no known kind is filed under
        ``check``; so is every wrong one, if ``always``: results that are wrong only at some shape,
        or for some values.
        """
        seen = run.seen[index]
        strange = run.told.kind in ("form", "lazy")
        if strange:
            returned = plain_words(run.told.text)
            self.findings.failed(run.told.kind, f"{what}: it returned {returned}")
        if seen.altered:
            self.findings.failed("inputs", f"{what}: it changed {', '.join(seen.altered)}")
        if not seen.intact:
            self.findings.failed("bounds", f"{what}: it wrote before or after its output")
        verdict = self._verdict(seen.outs, arrays)
        if verdict.passed:
            if self.worst is None or verdict.budget_fraction > self.worst.budget_fraction:
                self.worst = verdict
        elif not strange:
            name, evidence = self._named(verdict, seen, arrays, run.slots[index], check)
            if always and name not in (check, "on_time"):
                name, evidence = check, f"{name}: {evidence}"
            self.findings.failed(name, f"{what}: {evidence}")
        self.session.remember(seen.outs, verdict.passed)
        return verdict.passed

    def precise(self, outs: Arrays, arrays: Arrays, what: str, only: Sequence[str] = ()) -> bool:
        """Whether a right result of ordinary contents has the errors of the precision claimed; see
        `rooftile.lab.audit.checks.errors`."""
        problem = self._problem
        items = problem.items_in(arrays)
        problem = problem if items is None else problem.with_batch(items)
        lowered = rounded_operands(problem, outs, arrays, self.claim, only)
        if lowered:
            self.findings.failed("precision", f"{what}: {lowered}")
            return False
        large = too_large(problem, outs, arrays, CLAIMS[self.claim])
        if large:
            self.findings.failed("values", f"{what}: {large}")
        return not large

    def agrees(self, outs: Arrays, arrays: Arrays) -> bool:
        """True if a result is right, without naming the kind of error."""
        return self._verdict(outs, arrays).passed

    @property
    def _problem(self) -> Problem:
        assert self.session.problem is not None
        return self.session.problem

    def _verdict(self, outs: Arrays, arrays: Arrays) -> Verdict:
        for output, out in zip(self._problem.output_arrays, outs, strict=True):
            # NumPy takes any byte but zero for true.
            others = int((bits(out) > 1).sum()) if output.dtype == "bool" else 0
            if others:
                return Verdict(False, f"{others} of {out.size} elements are neither true nor false")
        return Expected(self._problem, *arrays).judge(outs, CLAIMS[self.claim])

    def _named(
        self, verdict: Verdict, seen: Seen, arrays: Arrays, slot: int, check: str
    ) -> tuple[str, str]:
        wrong = wrong_in(self._problem, seen, arrays, CLAIMS[self.claim])
        name, evidence = (
            self._late(seen.outs, arrays, slot)
            or _first(_unwritten, wrong)
            or _first(self._kept, wrong)
            or self._lowered(seen.outs, wrong, arrays)
            or _first(_repeated, wrong)
            or (check or "values", verdict.reason + _worst(verdict))
        )
        if len(seen.outs) > 1:
            evidence = f"{', '.join(one.output.name for one in wrong)}: {evidence}"
        return name, evidence

    def _late(self, outs: Arrays, arrays: Arrays, slot: int) -> _Named:
        later = self.session.later(slot)
        changed = sum(int((bits(a) != bits(b)).sum()) for a, b in zip(outs, later, strict=True))
        if not changed:
            return None
        end = "right some time later" if self.agrees(later, arrays) else "still changing"
        return "on_time", (
            f"{changed} of {_elements(outs)} elements were written after it had answered; "
            f"the result was {end}"
        )

    def _kept(self, wrong: Wrong) -> _Named:
        for back, earlier in enumerate(reversed(self.session.earlier), 1):
            if _again(wrong, earlier):
                return "cache", f"it returned the result of {back} calls before, for other inputs"
        return None

    def _lowered(self, outs: Arrays, wrong: Sequence[Wrong], arrays: Arrays) -> _Named:
        """The name of a lower precision whose error the result has."""
        problem, model = self._problem, CLAIMS[self.claim]
        if not any(
            _is_float(one.output)
            and one.elements.mean() >= _MANY
            and isinstance(problem.judgement(one.output, model), Budget)
            for one in wrong
        ):
            return None
        places = problem.given_arrays
        for name, rounded in ROUNDINGS.items():
            # A kernel rounds everything, or only what it multiplies.
            for added in (True, False):
                given = tuple(
                    rounded(a) if p.dtype == "float32" and (added or p.operand) else a
                    for p, a in zip(places, arrays, strict=True)
                )
                if Expected(problem, *given).judge(outs, model).passed:
                    return "precision", (
                        f"claimed is {self.claim}; it is the result for inputs rounded to {name}"
                    )
        for name in ("fp16", "bf16"):
            lower = CLAIMS[name]
            if lower.unit > model.unit and Expected(problem, *arrays).judge(outs, lower).passed:
                return "precision", (
                    f"claimed is {self.claim}; its errors are typical of arithmetic with "
                    f"{FORMATS[name].significant_bits} significant bits"
                )
        return None


def is_suspect(problem: Problem, seen: Seen) -> bool:
    """True if an output holds a NaN, or more of its poison than by chance."""
    return any(
        too_many(int(left.sum()), out.size, strength(output))
        or (output.numpy.kind in "fV" and bool(np.isnan(out).any()))
        for output, out, left in zip(problem.output_arrays, seen.outs, seen.left, strict=True)
    )


def wrong_in(problem: Problem, seen: Seen, arrays: Arrays, model: ErrorModel) -> list[Wrong]:
    """The outputs that have wrong elements."""
    outputs = problem.output_arrays
    judgements = [problem.judgement(output, model) for output in outputs]
    references = outputs_of(problem.reference(*arrays))
    magnitudes: tuple[AnyArray | None, ...] = (None,) * len(outputs)
    if any(isinstance(judgement, Budget) for judgement in judgements):
        magnitudes = outputs_of(problem.magnitude(*arrays))
    found = []
    for i, (output, judgement) in enumerate(zip(outputs, judgements, strict=True)):
        reference, out = np.asarray(references[i]), seen.outs[i]
        if isinstance(judgement, Budget | Exact):
            elements = _wrong_elements(output, judgement, out, reference, magnitudes[i], model)
        else:
            together = (*seen.outs, *arrays)
            right = compare(output, judgement, out, reference, None, model, together).passed
            elements = (
                np.zeros(out.shape, np.bool_) if right else _suspects(judgement, out, reference)
            )
        if elements.any():
            found.append(Wrong(output, i, out, elements, seen.left[i]))
    return found


def _wrong_elements(
    output: Array,
    judgement: Budget | Exact,
    out: AnyArray,
    reference: AnyArray,
    magnitude: AnyArray | None,
    model: ErrorModel,
) -> NDArray[np.bool_]:
    """True for elements outside their budget, where each is judged by itself."""
    found: AnyArray
    if isinstance(judgement, Budget):
        assert magnitude is not None
        with np.errstate(invalid="ignore"):
            error = np.abs(out - reference)
        found = ~(error <= budget_of(output, judgement, reference, magnitude, model))
    else:
        expected = reference.astype(out.dtype)
        found = bits(out) != bits(expected)
        if _is_float(output):
            found &= ~((out == expected) | (np.isnan(out) & np.isnan(expected)))
    return np.asarray(found)


def _suspects(judgement: Judgement, out: AnyArray, reference: AnyArray) -> NDArray[np.bool_]:
    """True for elements of a wrong output that may be wrong, where they are judged together."""
    if isinstance(judgement, Unordered):
        strange = ~np.isin(out, reference)
        if strange.any():
            return np.asarray(strange)
    return np.ones(out.shape, np.bool_)


def _unwritten(wrong: Wrong) -> _Named:
    out, size, elements = wrong.out, wrong.out.size, wrong.elements
    left = int((wrong.left & elements).sum())
    if too_many(left, int(elements.sum()), strength(wrong.output)):
        return "complete", f"{left} of {size} elements were not written"
    heap = int((bits(out) == heap_bits(out)).sum())
    if too_many(heap, size, 8 * out.dtype.itemsize):
        return "stale", f"{heap} of {size} elements are what lay in its memory before the call"
    if wrong.output.dtype != "bool" and (out[elements] == 0).mean() >= _MOST:
        return "complete", f"{int(elements.sum())} of {size} elements are zero and should not be"
    return None


def _again(wrong: Wrong, earlier: Earlier) -> bool:
    """True if nearly all wrong elements had these values before."""
    old, out, elements = earlier.outs[wrong.index], wrong.out, wrong.elements
    # A constant result repeats itself; a result that was right for other inputs does not.
    if earlier.right and same_bits(old, out) and _is_telling(wrong):
        return True
    if len(np.unique(out[elements])) < _DISTINCT:
        return False
    return bool((old[elements] == out[elements]).mean() >= _MOST)


def _is_telling(wrong: Wrong) -> bool:
    """True if a result holds so much that another one cannot be the same by chance."""
    if _is_float(wrong.output):
        return True
    return float(np.log2(1 + np.abs(wrong.out.astype(np.float64))).sum()) >= SURE_BITS


def _repeated(wrong: Wrong) -> _Named:
    """Items of a batch that are copies of other items."""
    out = wrong.out
    if not wrong.output.batched or len(out) < 2:
        return None
    rows = out.reshape(len(out), -1)
    bad = np.flatnonzero(wrong.elements.reshape(len(out), -1).any(axis=1))
    good = np.setdiff1d(np.arange(len(out)), bad)
    for item in bad:
        written = rows[item] != 0
        if len(np.unique(rows[item][written])) < _DISTINCT:
            continue
        for other in good:
            if (rows[item] == rows[other])[written].mean() >= _MOST:
                return "complete", f"{len(bad)} of {len(out)} items are copies of other items"
    return None


def _first(recognise: Callable[[Wrong], _Named], wrong: Sequence[Wrong]) -> _Named:
    """The result of ``recognise`` for the first output that it recognises; None without one."""
    return next(filter(None, map(recognise, wrong)), None)


def _is_float(array: Array) -> bool:
    return array.numpy.kind in "fV"


def _elements(outs: Arrays) -> int:
    return sum(out.size for out in outs)


def _worst(verdict: Verdict) -> str:
    if math.isnan(verdict.got) and math.isnan(verdict.expected):
        return ""
    # A result that must be exact is printed with all its digits.
    digits = 9 if verdict.budget else 17
    return (
        f"; the worst is {verdict.index}: {verdict.got:.{digits}g} where the reference has "
        f"{verdict.expected:.{digits}g}, budget {verdict.budget:.2g}"
    )
