"""The trials of a foreign kernel: calls made so that each kind of fraud shows.

A trial writes inputs, runs, and has the result judged; the inputs are such that an honest
kernel passes all of them, whatever it does inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from rooftile.lab.audit.checks.contents import derived, some_items
from rooftile.lab.audit.checks.judge import Judge, is_suspect
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.poison import bits
from rooftile.lab.audit.process.child import Complained
from rooftile.lab.audit.process.session import Arrays, Session
from rooftile.lab.judge.exam import same_bits
from rooftile.ops import AnyArray, Problem
from rooftile.ops.problem import outputs_of

_TRIES = 8
"""Number of positions that are tried until one changes the result."""
_ERRORS_FLOPS = 10**8
"""FLOPs of the items whose errors are looked at closely, where the problem has a batch."""
_ITEMS = 16
"""Items that are compared of each of many calls."""


@dataclass
class Trials:
    """The trials of one kernel, in its session."""

    session: Session
    judge: Judge
    findings: Findings
    seed: int
    deterministic: bool

    def values(self, problem: Problem) -> float | None:
        """Judge it on the public seed's inputs, and on secret ones in the very same arrays. Gives
        the seconds of the first call; None when a result was wrong."""
        self.session.lay(problem, 3)
        public = problem.random(self.seed)
        self.session.write(0, public)
        first = self.session.run([0], scrub=True)
        if not self.judge.judge(first, 0, public, "on the public seed"):
            return None
        check, fresh = "seed" if self._knows(public) else "", self.session.fresh()
        if not self._call(fresh, "on fresh inputs", check=check, scrub=True):
            if self.findings.status("cache") == "failed":
                other = self._call(self.session.fresh(), "in other arrays", slot=1)
                key = "the identity of its input" if other else "no more than its input's shape"
                self.findings.add("cache", f"it keeps results by {key}")
            return None
        outs = self.session.earlier[-1].outs
        some = some_items(problem, outs, fresh, _fitting(problem), np.random.default_rng())
        if not self.judge.precise(*some, "on fresh inputs"):
            return None
        if not self._changes(problem) or not self._repeat():
            return None
        self.findings.passed("cache")  # `Replays` may yet find one.
        for name in ("values", "complete", "stale", "seed", "precision"):
            self.findings.passed(name)
        return first.wall_s

    def _call(
        self,
        arrays: Arrays,
        what: str,
        *,
        check: str = "",
        always: bool = False,
        slot: int = 0,
        scrub: bool = False,
    ) -> bool:
        self.session.write(slot, arrays)
        run = self.session.run([slot], scrub=scrub)
        return self.judge.judge(run, 0, arrays, what, check, always)

    def _knows(self, public: Arrays) -> bool:
        """True if it is repeatedly right on the public inputs, and wrong on others."""
        right = []
        for arrays in (self.session.fresh(), public, self.session.fresh(), public):
            self.session.write(2, arrays)
            right.append(self.judge.agrees(self.session.run([2]).seen[0].outs, arrays))
        return right == [False, True, False, True]

    def _repeat(self) -> bool:
        """Call it twice on the same inputs; whether both results were right."""
        arrays, found = self.session.fresh(), []
        for what in ("in a first run", "in a second run"):
            self.session.write(2, arrays)
            run = self.session.run([2])
            if not self.judge.judge(run, 0, arrays, what):
                return False
            found.append(run.seen[0].outs)
        pairs = list(zip(*found, strict=True))
        differ = sum(int((bits(a) != bits(b)).sum()) for a, b in pairs)
        if not self.deterministic:
            self.findings.skipped("repeatable", "declared: two runs may differ")
        elif differ:
            self.findings.failed(
                "repeatable", f"{differ} of {sum(a.size for a, _ in pairs)} elements differ"
            )
        else:
            self.findings.passed("repeatable")
        return True

    def _changes(self, problem: Problem) -> bool:
        """Change one element: a result that was kept under a part of the contents is now wrong."""
        generator = np.random.default_rng()
        for which, name in enumerate(array.name for array in problem.given_arrays):
            arrays = self.session.fresh()
            if not self._call(arrays, f"before one element of {name} changed"):
                return False
            changed = changed_inputs(problem, arrays, which, generator)
            if changed is None:
                continue
            before = self.session.earlier[-1].outs
            self.session.write(0, changed)
            run = self.session.run([0])
            what = f"after one element of {name} changed"
            if all(map(same_bits, run.seen[0].outs, before)):
                self.findings.failed("cache", f"{what}: it returned the result from before")
                return False
            if not self.judge.judge(run, 0, changed, what):
                return False
        return True

    def families(self, problem: Problem, made: Mapping[str, Callable[[], Arrays]]) -> bool:
        """Judge it on values that wrong methods stumble over, in an order that is drawn."""
        self.session.lay(problem)
        for kind in np.random.default_rng().permutation(list(made)):
            if not self._call(
                made[str(kind)](), f"on inputs with {kind}", check="values", always=True
            ):
                return False
        return True

    def many(self, problem: Problem, calls: int) -> bool:
        """Many calls at a size that was drawn, in one request, as a timed one is made; some items
        of each are compared.  It cannot know that they are not timed."""
        self.session.lay(problem, calls)
        given = [self.session.fresh() for _ in range(calls)]
        for slot, arrays in enumerate(given):
            self.session.write(slot, arrays)
        what = f"in one of {calls} calls at {problem}"
        try:
            with self._filed("off_grid", what):
                run = self.session.run([int(i) for i in np.random.default_rng().permutation(calls)])
        except Complained:
            return True  # It refuses this size, which is honest.
        if not self.findings.right:
            return False
        generator = np.random.default_rng()
        for index, slot in enumerate(run.slots):
            seen, arrays = run.seen[index], given[slot]
            # Hard inputs are not among these, so a NaN is an element that was not written.
            right = seen.intact and not seen.altered and not is_suspect(problem, seen)
            some = some_items(problem, seen.outs, arrays, _ITEMS, generator)
            if right and self.judge.agrees(*some):
                continue
            if not self.judge.judge(run, index, arrays, what, "off_grid"):
                return False
        return True

    def before(self, problem: Problem) -> None:
        """Call it on contents, and on others that follow from them; keep the second result."""
        generator = np.random.default_rng()
        self.session.lay(problem)
        places, arrays = self.session.slots, self.session.fresh()
        self._call(arrays, "before others follow from it")
        given = derived(problem, arrays, generator)
        self._call(given, "where it follows from another input")
        self._kept = (problem, places, given, self.session.earlier[-1].outs)

    def after(self) -> None:
        """After many calls the same contents at the same place have the same result."""
        problem, places, given, outs = self._kept
        self.session.lay(problem, 1, places)
        self._call(given, "after it was timed")
        now = self.session.earlier[-1].outs
        differ = sum(int((bits(a) != bits(b)).sum()) for a, b in zip(outs, now, strict=True))
        if differ and self.deterministic:
            self.findings.failed(
                "cache",
                f"{differ} elements differ from an earlier call's on the same inputs: what "
                "it returns depends on the calls before",
            )

    def shapes(self, problem: Problem, larger: Sequence[Problem], fixed: bool) -> None:
        """Judge it on sizes that no tile divides, on larger ones, and on the smallest ones."""
        near, least = problem.neighbours(), problem.smallest()
        for check, made in (("off_grid", (*near, *near, *larger)), ("degenerate", 2 * least)):
            if fixed:
                self.findings.skipped(check, "declared: made for this shape alone")
            else:
                self._shapes(check, made)

    def _shapes(self, check: str, problems: Sequence[Problem]) -> None:
        refused = ""
        for problem in problems:
            what = f"at {problem}"
            try:
                with self._filed(check, what):
                    self.session.lay(problem)
                    fresh = self.session.fresh()
                    if not self._call(fresh, what, check=check, always=True, scrub=True):
                        return
            except Complained as error:
                refused = f"it refuses {problem}: {error.what}"
        if refused:
            self.findings.skipped(check, refused)
        else:
            self.findings.passed(check, f"right at {len(set(problems))} problems")

    @contextmanager
    def _filed(self, check: str, what: str) -> Iterator[None]:
        """File an error at a shape under that shape's check.  A refusal is no failure."""
        try:
            yield
        except Complained as error:
            if error.kind == "refuses":
                raise
            self.findings.failed(check, f"{what}: {error.what}")

    def elsewhere(self) -> None:
        """Look for a result that is wrong, but right once the whole GPU was waited for."""
        if self.session.kernel.memory != "cuda":
            return
        for _ in range(2):
            arrays = self.session.fresh()
            self.session.write(0, arrays)
            outs = self.session.run([0], wait=True).seen[0].outs
            if not self.judge.agrees(outs, arrays):
                return
        self.findings.failed(
            "stream",
            "its result is right only if the whole device is waited for before it is fetched: "
            "the work is on another stream",
        )

    def order(self, problem: Problem) -> None:
        """On a GPU, let the inputs arrive late, in the order of the current stream."""
        if self.session.kernel.memory != "cuda":
            self.findings.skipped("stream", "the kernel does not choose one")
            return
        self.session.lay(problem, 2)
        stale, arrays = self.session.fresh(), self.session.fresh()
        self.session.write(0, stale)
        self.session.run([0])
        self.session.write(0, stale)
        self.session.write(1, arrays)
        self.session.poison(1)
        self.session.run([0], look=False, behind=1)
        if self.judge.agrees(self.session.look(1).outs, arrays):
            self.findings.passed("stream")
        else:
            self.findings.failed(
                "stream",
                "inputs that arrived late in the current stream were not waited for, or the "
                "result was not there for what followed in it: the work is on another stream",
            )


def _fitting(problem: Problem) -> int:
    """Of how many items the errors are looked at; one at least."""
    return max(1, int(_ERRORS_FLOPS * (problem.batch_size or 1) / max(1, problem.flops)))


def changed_inputs(
    problem: Problem, arrays: Arrays, which: int, generator: np.random.Generator
) -> Arrays | None:
    """The arrays with one element of one of them changed, so that the result must change too. None
    where no change that was tried changes the result."""
    before = outputs_of(problem.reference(*arrays))
    for _ in range(_TRIES):
        made = problem.altered(arrays, which, int(generator.integers(2**63)))
        if any(map(_differs, before, outputs_of(problem.reference(*made)))):
            return made
    return None


def _differs(before: AnyArray, after: AnyArray) -> bool:
    """True if a result differs from another beyond any rounding."""
    if np.asarray(before).dtype.kind not in "fV":
        return not np.array_equal(before, after)
    return bool(np.abs(after - before).max() > 1e-3 * np.abs(before).max())
