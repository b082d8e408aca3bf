"""How long a foreign kernel takes, by the judge's clock and on inputs that are always new.

A sample is a request to call the kernel on several sets of arrays, which are filled with new
contents while its process is frozen.  The clock runs from thawing the process until its answer.
The results must be there then, and every one is checked, in an order that is drawn afterwards:

- each is searched for poison, and its guards and inputs for changes;
- where the reference of all of them takes too long, only the first is compared with it;
- the others are then compared as a whole by a secret projection where the problem is affine
  (`rooftile.lab.audit.checks.projection`), else with what our own rung makes of them
  (`rooftile.lab.audit.checks.second`): the error bounds are derived there.

So a time is never too short.  It holds what a caller pays: the launch, the wait for the device, the
delivery of a returned result.

Samples are of five kinds, in an order that is drawn, and the process cannot tell them apart before
it answers.  *Ordinary* ones make the time.  *Hard* ones hold inputs of the kinds that wrong methods
stumble over; *near* ones are of sizes and batches that were drawn; their times are kept apart.
Into *watched* ones somebody looks (`rooftile.lab.audit.process.lookout`).  *Cold* ones are launches
of a text on a GPU, with nothing of the arrays in its last-level cache.

A text's launches on a GPU are timed by the device's clock, in the process that launches them, where
no stranger's code runs.  All else is the same: new contents, poisoned outputs, results checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rooftile.devices.select import open_device
from rooftile.lab.audit.checks.clocks import check_clocks, check_warm, resources, told_seconds
from rooftile.lab.audit.checks.contents import derived, renewed, similar, some_items
from rooftile.lab.audit.checks.errors import roundings
from rooftile.lab.audit.checks.judge import Judge, is_suspect
from rooftile.lab.audit.checks.projection import projected_right, projects
from rooftile.lab.audit.checks.rounding import CLAIMS
from rooftile.lab.audit.checks.second import Second
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.process.child import Complained
from rooftile.lab.audit.process.lookout import Lookout
from rooftile.lab.audit.process.session import Arrays, Run, Session, slots_for
from rooftile.lab.measure.records import KernelResources
from rooftile.ops import Problem
from rooftile.runtime.timing.host import Timing, is_steady, timing_of
from rooftile.runtime.timing.others import Watch

_WINDOW_S = 0.02
"""A sample lasts about this long, where the slots suffice: an answer takes 0.1 ms to arrive."""
_SECONDS = 3.0
"""Seconds after which timing ends, steady or not."""
_LEAST, MOST = 5, 40
"""Numbers of samples: the least and the most."""
_CHECKED_FLOPS = 2 * 10**9
"""FLOPs of a result above which only some items of a batch are compared."""
_WHOLE_FLOPS = 10**7
"""Up to so many FLOPs errors are compared with those of every lower precision."""
_SOME_ITEMS = 2
"""Number of items that tell the time of a reference, and are compared at sizes that were drawn."""
_CHECKS_S = 0.1
"""Approximate seconds in which the results of a sample can be checked."""
_MOST_LAUNCHES = 32
"""Launches of a sample at most."""
_SHARES = {"ordinary": 0.6, "hard": 0.12, "near": 0.12, "watched": 0.16, "cold": 0.6}
"""Probabilities of the kinds of samples."""
_LAUNCHES_S = 1e-3
"""A sample of launches that the device's clock times lasts about as long."""


@dataclass
class Speed:
    """The timing of one kernel that was right."""

    session: Session
    judge: Judge
    findings: Findings
    odd: Sequence[Callable[[], Arrays]] = ()
    """Functions that make hard inputs for the timed problem."""
    nearby: Sequence[Problem] = ()
    """Problems of sizes and batches that were drawn."""
    runs: list[Run] = field(default_factory=list)
    hard_s: list[float] = field(default_factory=list)
    """Seconds of calls of hard samples."""
    near_s: list[tuple[Problem, float]] = field(default_factory=list)
    """The same at problems that were drawn."""
    cold_s: list[float] = field(default_factory=list)
    """Seconds of cold launches."""
    resources: KernelResources = field(default_factory=KernelResources)
    """What the compiler says of a text's kernel."""

    def measure(self, problem: Problem) -> Timing | None:
        """The time of a call in milliseconds; None when a result of a timed call was wrong."""
        self._problem, self._generator = problem, np.random.default_rng()
        self.lookout = Lookout(
            self.session.child, arrays=self.session.arrays, operation=problem.operation
        )
        if not self.session.device_clock:
            self.lookout.settle()
        slots = slots_for(problem)
        self.session.lay(problem, slots)
        self.resources = resources(self.session.resources)
        self._ordinary = [self.session.fresh() for _ in range(slots)]
        once = min(self._seconds(self._sample(self._ordinary[:1])) for _ in range(2))
        window_s = _LAUNCHES_S if self.session.device_clock else _WINDOW_S
        fitting = min(window_s / once, _CHECKS_S / self._prepare_checks())
        self.count = max(1, min(slots, round(fitting), self._in_cache()))
        self.expected_s = self._seconds(self._sample(self._ordinary[: self.count]))
        times: list[float] = []
        watch, start = Watch(self.session.child.pid), time.perf_counter()
        while len(times) < MOST:
            kind = self._kind()
            if kind == "near":
                if not self._near(slots):
                    return None
                continue
            given, hard = self._contents(kind)
            with watch as calls:
                run = self._sample(given, kind)
                calls.append(run.wall_s)
            self.runs.append(run)
            if not self._right(run, given, hard):
                return None
            if kind in ("hard", "cold"):
                each = self.hard_s if kind == "hard" else self.cold_s
                each.append(self._seconds(run) / len(given))
            if kind != "ordinary":
                continue
            self.expected_s = min(self.expected_s, self._seconds(run))
            times.append(self._seconds(run) / self.count)
            spent = time.perf_counter() - start
            if len(times) >= _LEAST and (is_steady(times) or spent > _SECONDS):
                break
        check_clocks(self.session, self.findings, self.runs)
        check_warm(self.findings, min(times), min(self.cold_s, default=0.0))
        waited = None if self.session.device_clock else watch.share()
        return replace(timing_of(times), waited=waited)

    @property
    def cold(self) -> Timing | None:
        """The times of cold launches; None for what is no text on a GPU."""
        return timing_of(self.cold_s) if self.cold_s else None

    def look_into(self) -> None:
        """One more request that is looked into."""
        self._sample(self._contents("watched")[0], "watched")

    def _seconds(self, run: Run) -> float:
        """The time of a sample.  Raises `Died` for one that cannot be."""
        return told_seconds(run) if self.session.device_clock else run.wall_s

    def _in_cache(self) -> int:
        """How many sets of arrays fit half of a GPU's last-level cache; one at least."""
        if not self.session.device_clock:
            return _MOST_LAUNCHES
        cache = open_device(self.session.kernel.device).cache_bytes or 0
        return max(1, min(_MOST_LAUNCHES, cache // (2 * self._problem.bytes)))

    def _kind(self) -> str:
        """The kind of the next sample; the first one is watched, before a process can know."""
        kinds = {
            "ordinary": True,
            "hard": bool(self.odd),
            "near": bool(self.nearby),
            "watched": not self.lookout.unseen and not self.session.device_clock,
            "cold": self.session.device_clock,
        }
        if kinds["watched"] and not self.runs:
            return "watched"
        if kinds["cold"] and not self.cold_s:
            return "cold"
        names = [name for name in _SHARES if kinds[name]]
        shares = np.array([_SHARES[name] for name in names])
        return str(self._generator.choice(names, p=shares / shares.sum()))

    def _contents(self, kind: str) -> tuple[list[Arrays], int | None]:
        """New contents of a sample, and which of them is a hard one, if there shall be one."""
        count = 1 if kind == "cold" else self.count
        given = [renewed(self._problem, self._generator) for _ in range(count)]
        if kind != "hard":
            return given, None
        which = int(self._generator.integers(len(given)))
        made = int(self._generator.integers(len(self.odd) + 1))
        if made == len(self.odd):
            # What was seen before, permuted and scaled, or with other mantissas.
            made_of = (derived, similar)[int(self._generator.integers(2))]
            given[which] = made_of(self._problem, self._ordinary[which], self._generator)
        else:
            given[which] = self.odd[made]()
        return given, which

    def _sample(self, arrays: list[Arrays], kind: str = "ordinary") -> Run:
        """A run of all slots with these contents, in an order that is drawn."""
        for slot, one in enumerate(arrays):
            self.session.write(slot, one)
        if self.session.device_clock:
            # The launches are captured once, in one order.
            return self.session.run(range(len(arrays)), timed=kind)
        order = [int(i) for i in self._generator.permutation(len(arrays))]
        watched = kind == "watched"
        meanwhile = partial(self.lookout.within, self.expected_s) if watched else None
        return self.session.run(order, meanwhile=meanwhile)

    def _near(self, slots: int) -> bool:
        """Time it at sizes that were drawn; whether it is right there, or refuses them."""
        problem = self.nearby[int(self._generator.integers(len(self.nearby)))]
        count = min(self.count, slots_for(problem))
        self.session.lay(problem, count)
        given = [self.session.fresh() for _ in range(count)]
        try:
            run = self._sample(given)
        except Complained as error:
            if error.kind != "refuses":
                raise
            right = True
        else:
            self.near_s.append((problem, self._seconds(run) / count))
            right = self._right_near(run, given)
        # Its arrays lie elsewhere from now on.
        self.session.lay(self._problem, slots)
        return right

    def _right_near(self, run: Run, given: list[Arrays]) -> bool:
        """True if a result at a drawn size is right as a whole, and items of the others."""
        problem, count = self.session.problem, len(given)
        assert problem is not None
        chosen = int(self._generator.integers(count))
        for index, (slot, seen) in enumerate(zip(run.slots, run.seen, strict=True)):
            right = index != chosen and seen.intact and not is_suspect(problem, seen)
            if right:
                some = some_items(problem, seen.outs, given[slot], _SOME_ITEMS, self._generator)
                right = self.judge.agrees(*some)
            what = f"at {problem}, between timed calls"
            if not right and not self.judge.judge(
                run, index, given[slot], what, "off_grid", always=True
            ):
                return False
        return True

    def _right(self, run: Run, given: list[Arrays], hard: int | None) -> bool:
        """True if every result of a sample is right; the module says how each is checked."""
        for turn, i in enumerate(self._generator.permutation(len(given))):
            index = int(i)
            slot, seen = run.slots[index], run.seen[index]
            arrays = given[slot]
            right = seen.intact and not seen.altered and not is_suspect(self._problem, seen)
            if right and slot == hard:
                # No other check knows the budgets of such inputs.
                right = self.judge.agrees(seen.outs, arrays)
            elif right:
                right = (turn > 0 or self._some_right(seen.outs, arrays)) and self._whole_right(
                    seen.outs, arrays
                )
            if not right and not self.judge.judge(run, index, arrays, "in a timed call"):
                return False
            if turn == 0 and slot != hard and not self._precise(seen.outs, arrays):
                return False
        return True

    def _precise(self, outs: Arrays, arrays: Arrays) -> bool:
        """Whether the errors of some items are those of the precision claimed, or, of what has no
        batch and is large, those of one of the lower precisions that is drawn."""
        problem, names = self._problem, list(roundings(self.judge.claim))
        some = some_items(problem, outs, arrays, _SOME_ITEMS, self._generator)
        if problem.flops > _WHOLE_FLOPS or problem.batch_size:
            names = [str(one) for one in self._generator.permutation(names)[:1]]
        return self.judge.precise(*some, "in a timed call", names)

    def _prepare_checks(self) -> float:
        """Choose how whole results are checked; the seconds that one takes."""
        problem, model = self._problem, CLAIMS[self.judge.claim]
        arrays = self._ordinary[0]
        outs = self.session.look(0).outs
        self._projects, self._second = False, None
        start = time.perf_counter()
        some = some_items(problem, outs, arrays, _SOME_ITEMS, self._generator)
        self.judge.agrees(*some)
        items = problem.batch_size or _SOME_ITEMS
        whole_s = (time.perf_counter() - start) * max(1.0, items / _SOME_ITEMS)
        if whole_s <= _CHECKS_S:
            return whole_s
        self._projects = projects(problem, model)
        if not self._projects:
            self._second = Second.of(problem, self.session.kernel.device, model)
            # What it compiles is no part of the time of a check.
            self._whole_right(outs, arrays)
        start = time.perf_counter()
        self._whole_right(outs, arrays)
        return time.perf_counter() - start

    def _whole_right(self, outs: Arrays, arrays: Arrays) -> bool:
        """True if a whole result is right, by the cheapest check that tells."""
        model = CLAIMS[self.judge.claim]
        if self._projects:
            return projected_right(self._problem, outs, arrays, model, self._generator)
        if self._second is not None:
            return self._second.agrees(outs, arrays, self._generator)
        return self.judge.agrees(outs, arrays)

    def _some_right(self, outs: Arrays, arrays: Arrays) -> bool:
        """True if drawn items are right by the reference, as many as have `_CHECKED_FLOPS`; where
        it judges whole results anyway, there is nothing to do."""
        problem, items = self._problem, self._problem.batch_size
        if items is None or not (self._projects or self._second):
            return True
        count = max(1, int(_CHECKED_FLOPS * items / max(1, problem.flops)))
        return self.judge.agrees(*some_items(problem, outs, arrays, count, self._generator))
