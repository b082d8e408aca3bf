"""How long a foreign kernel takes, by the judge's clock and on inputs that are always new.

A sample is a request to call the kernel on several sets of arrays, which are filled with new
contents while its process is frozen.  The clock runs from thawing the process until its answer.
The results must be there then, and every one is checked, in an order that is drawn afterwards:

- each is searched for poison, and its guards and inputs for changes;
- the first ones are compared with the reference as a whole, while the time bears it;
- the others, where the problem is affine, by a secret projection of the whole batch
  (`rooftile.lab.audit.projection`, where the error bound is derived); else by items that are drawn.

So a time is never too short.  It holds what a caller pays: the launch, the wait for the device, the
delivery of a returned result.

Between the samples come others that are made in the same way and not timed: some of their inputs
are of those that wrong methods stumble over, and some are of sizes and batches that were drawn.
The process cannot tell which samples are timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rooftile.lab.audit.child import Complained
from rooftile.lab.audit.contents import renewed, some_items
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.judge import Judge, is_suspect
from rooftile.lab.audit.projection import projected_right, projects
from rooftile.lab.audit.rounding import CLAIMS
from rooftile.lab.audit.session import Arrays, Run, Session, slots_for
from rooftile.ops import Problem
from rooftile.runtime.timing.device import contradiction
from rooftile.runtime.timing.host import Timing, is_steady, timing_of
from rooftile.runtime.timing.others import Watch

_WINDOW_S = 0.02
"""A sample lasts about this long, where the slots suffice: an answer takes 0.1 ms to arrive."""
_SECONDS = 3.0
"""Timing ends after so many seconds, steady or not."""
_LEAST, _MOST = 5, 40
"""Numbers of samples: the least and the most."""
_CHECKED_FLOPS = 2 * 10**9
"""Where a result takes more FLOPs than this, only some items of a batch are compared."""
_SOME_ITEMS = 2
"""So many items of a result are compared where the time for whole ones is over."""
_TIMES_LONGER = 2.0
"""Whole results are compared for so many times as long as the sample took; the first one always."""
_CHECKS_S = 0.1
"""A sample has no more results than can be checked in about so many seconds."""
_DECOYS = 0.2
"""The share of samples that are not timed."""
_EVENT_SLACK_S = 2e-3
"""Seconds of the judge's time that a GPU's events may miss, while the answer is on its way."""


@dataclass
class Speed:
    """The timing of one kernel that was right."""

    session: Session
    judge: Judge
    findings: Findings
    odd: Sequence[Callable[[], Arrays]] = ()
    """What makes hard inputs for the problem that is timed."""
    nearby: Sequence[Problem] = ()
    """Problems of sizes and batches that were drawn."""
    runs: list[Run] = field(default_factory=list)

    def measure(self, problem: Problem) -> Timing | None:
        """The time of a call in milliseconds; None when a result of a timed call was wrong."""
        self._problem, self._generator = problem, np.random.default_rng()
        session, slots = self.session, slots_for(problem)
        session.lay(problem, slots)
        self._ordinary = [session.fresh() for _ in range(slots)]
        once = min(self._sample(self._ordinary[:1]).wall_s for _ in range(2))
        fitting = min(_WINDOW_S / once, _CHECKS_S / self._least_check())
        self.count = max(1, min(slots, round(fitting)))
        self._sample(self._ordinary[: self.count])
        times: list[float] = []
        watch = Watch(session.child.pid)
        start = time.perf_counter()
        while len(times) < _MOST:
            decoy = not self.runs or self._generator.random() < _DECOYS
            if decoy:
                if not self._at_nearby():
                    return None
                # Its arrays lie elsewhere from now on.
                session.lay(problem, slots)
            given = self.contents(decoy)
            with watch as calls:
                run = self._sample(given)
                calls.append(run.wall_s)
            self.runs.append(run)
            if not self._right(run, given):
                return None
            if decoy:
                continue
            times.append(run.wall_s / self.count)
            spent = time.perf_counter() - start
            if len(times) >= _LEAST and (is_steady(times) or spent > _SECONDS):
                break
        self._clocks()
        return replace(timing_of(times), waited=watch.share())

    def contents(self, odd: bool = False) -> list[Arrays]:
        """New contents of a sample; some of them are hard ones, if ``odd``."""
        given = [
            renewed(self._problem, one, self._generator) for one in self._ordinary[: self.count]
        ]
        if odd and self.odd:
            which = int(self._generator.integers(len(given)))
            given[which] = self.odd[int(self._generator.integers(len(self.odd)))]()
        return given

    def _sample(self, arrays: list[Arrays]) -> Run:
        """A run of all slots with these contents, in an order that is drawn."""
        for slot, one in enumerate(arrays):
            self.session.write(slot, one)
        return self.session.run([int(i) for i in self._generator.permutation(len(arrays))])

    def _at_nearby(self) -> bool:
        """Call it at sizes that were drawn; whether it is right there, or refuses them."""
        if not self.nearby:
            return True
        problem = self.nearby[int(self._generator.integers(len(self.nearby)))]
        count = min(self.count, slots_for(problem))
        self.session.lay(problem, count)
        given = [self.session.fresh() for _ in range(count)]
        try:
            run = self._sample(given)
        except Complained as error:
            if error.kind == "refuses":
                return True
            raise
        what = f"at {problem}, between timed calls"
        chosen = int(self._generator.integers(count))
        arrays = given[run.slots[chosen]]
        return self.judge.judge(run, chosen, arrays, what, "off_grid", always=True)

    def _right(self, run: Run, given: list[Arrays]) -> bool:
        """Whether every result of a sample is right; see above how each is checked."""
        end = time.perf_counter() + max(_TIMES_LONGER * run.wall_s, _WINDOW_S)
        for turn, i in enumerate(self._generator.permutation(len(given))):
            index = int(i)
            arrays, seen = given[run.slots[index]], run.seen[index]
            right = seen.intact and not seen.altered and not is_suspect(self._problem, seen)
            if right and (turn == 0 or time.perf_counter() < end):
                right = self._agree(seen.outs, arrays, _CHECKED_FLOPS)
            elif right:
                right = self._checked(seen.outs, arrays)
            if not right and not self.judge.judge(run, index, arrays, "in a timed call"):
                return False
        return True

    def _least_check(self) -> float:
        """The seconds that the cheapest check of a result takes; it is of no right one."""
        arrays = self._ordinary[0]
        outs = tuple(np.zeros(one.shape, one.numpy) for one in self._problem.output_arrays)
        start = time.perf_counter()
        self._checked(outs, arrays)
        return time.perf_counter() - start

    def _checked(self, outs: Arrays, arrays: Arrays) -> bool:
        """Whether a result passes its projection; without one, whether some of its items are
        right; without a batch, whether it is."""
        model = CLAIMS[self.judge.claim]
        if projects(self._problem, model):
            return projected_right(self._problem, outs, arrays, model, self._generator)
        return self._agree(outs, arrays, 0)

    def _agree(self, outs: Arrays, arrays: Arrays, flops: int) -> bool:
        """Whether items that are drawn are right: so many that they have these FLOPs, and at least
        `_SOME_ITEMS`; without a batch, the whole result."""
        problem, items = self._problem, self._problem.batch_size
        if items is None:
            return self.judge.agrees(outs, arrays)
        count = max(_SOME_ITEMS, int(flops * items / max(1, problem.flops)))
        return self.judge.agrees(*some_items(problem, outs, arrays, count, self._generator))

    def _clocks(self) -> None:
        """Compare what a GPU's events said with the judge's clock."""
        events = ("the driver's events", "the library's")
        for i, what in enumerate(events) if self.session.kernel.kind == "cuda" else ():
            pairs = [
                (run.told.numbers[i] if len(run.told.numbers) > i else 0.0, run.wall_s)
                for run in self.runs
            ]
            against = contradiction(pairs, _EVENT_SLACK_S)
            if against:
                self.findings.failed("timers", f"by {what} {against}")
