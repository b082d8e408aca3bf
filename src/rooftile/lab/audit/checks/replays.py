"""Kernels that look results up: contents that are repeated, or follow from earlier ones, are timed
with new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from rooftile.lab.audit.checks.contents import derived, similar, some_items
from rooftile.lab.audit.checks.judge import Judge
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.isolation.processes import worked_s
from rooftile.lab.audit.process.session import Arrays, Session, slots_for
from rooftile.ops import Problem

_PAIRS, _SURE = 4, 16
"""Numbers of comparisons of calls on new and on repeated contents: at first, and to be sure."""
_REPLAYED = 8
"""Calls in one request, such that a look-up gains more than an answer takes to arrive."""
_ITEMS = 16
"""Items that are compared of each of these results."""
_REPLAYED_BYTES = 32 * 2**20
_TIMES_FASTER, _LEAST_GAIN_S = 2.5, 1e-3
"""A look-up is at least this many times faster than the work, and by at least this many seconds."""
_OF = {
    "known": "that it had seen before",
    "derived": "that follow from earlier ones",
    "similar": "with the signs and exponents of earlier ones",
    "left": "whose results were there already",
}
"""Contents that are no new ones, by their kind."""


@dataclass
class Replays:
    """Calls one kernel, in its session, on contents that it has seen."""

    session: Session
    judge: Judge
    findings: Findings

    def look(self, problem: Problem) -> None:
        """Calls on contents that it has seen, or that follow from those, must not be much faster
        than calls on new ones, or take much less of the processors.

        On a busy machine the time until an answer says little, and what the process itself has
        worked says as much as ever.
        """
        fitting = max(1, _REPLAYED_BYTES // problem.bytes)
        slots = range(min(_REPLAYED, slots_for(problem), fitting))
        self.session.lay(problem, len(slots))
        seen, generator = [self.session.fresh() for _ in slots], np.random.default_rng()
        self._seconds(seen)
        made: dict[str, Callable[[], list[Arrays]]] = {
            "new": lambda: [self.session.fresh() for _ in slots],
            "known": lambda: seen,
            "derived": lambda: [derived(problem, one, generator) for one in seen],
            "similar": lambda: [similar(problem, one, generator) for one in seen],
            "left": lambda: seen,
        }
        times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in made}
        for count in (_PAIRS, _SURE):
            for _ in range(count):
                # On a busy machine the work before a request decides how soon it runs, so each
                # kind of request has the same work before it.
                for kind, found in times.items():
                    if kind == "left":
                        self._seconds(seen)
                    contents, _ = made[kind](), made["new"]()
                    found.append(self._seconds(contents, kind == "left"))
            found_out = next(filter(None, (self._looked_up(kind, times) for kind in _OF)), "")
            if not found_out:
                if self._alike(problem, [similar(problem, one, generator) for one in seen]):
                    self.findings.passed("cache")
                return
        self.findings.failed("cache", f"{found_out}: it does not compute them anew")

    def _looked_up(self, kind: str, times: Mapping[str, list[tuple[float, float]]]) -> str:
        """The evidence that contents of a kind are looked up; empty without any."""
        for clock, what in enumerate(("", " of the processors' time")):
            known, new = ([one[clock] for one in times[which]] for which in (kind, "new"))
            if _faster(known, new):
                return (
                    f"{1e3 * min(known):.3g} ms{what} on contents {_OF[kind]}, "
                    f"{1e3 * min(new):.3g} ms on new ones"
                )
        return ""

    def _alike(self, problem: Problem, contents: list[Arrays]) -> bool:
        """Whether results of contents that look like earlier ones, which came often, are right."""
        for slot, arrays in enumerate(contents):
            self.session.write(slot, arrays)
        run, generator = self.session.run(range(len(contents))), np.random.default_rng()
        what = "on contents with the signs and exponents of earlier ones"
        return all(
            self.judge.agrees(*some_items(problem, seen.outs, arrays, _ITEMS, generator))
            or self.judge.judge(run, slot, arrays, what)
            for slot, (seen, arrays) in enumerate(zip(run.seen, contents, strict=True))
        )

    def _seconds(self, contents: list[Arrays], keep: bool = False) -> tuple[float, float]:
        """The time of one request to call the kernel on each of these, and what its process has
        worked in it; ``keep``: where its outputs hold what they held."""
        for slot, arrays in enumerate(contents):
            self.session.write(slot, arrays)
        before = worked_s(self.session.child.pid)
        wall_s = self.session.run(range(len(contents)), look=False, keep=keep).wall_s
        return wall_s, worked_s(self.session.child.pid) - before


def _faster(known: list[float], new: list[float]) -> bool:
    """True if calls are so much faster than calls on new contents that they cannot work."""
    # On a busy machine the shortest time may be luck, but not the median as well.
    all_ = all(of(new) >= _TIMES_FASTER * of(known) for of in (min, median))
    return all_ and min(new) - min(known) >= _LEAST_GAIN_S
