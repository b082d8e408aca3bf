"""Does a kernel look results up?  Contents that come again, or follow from earlier ones, are timed
beside new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from rooftile.lab.audit.checks.contents import derived
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.isolation.processes import worked_s
from rooftile.lab.audit.process.session import Arrays, Session, slots_for
from rooftile.ops import Problem

_PAIRS, _SURE = 4, 16
"""How often calls on new and on repeated contents are compared: at first, and to be sure."""
_REPLAYED = 8
"""Calls in one request: so many that a look-up gains more than an answer takes to arrive."""
_TIMES_FASTER, _LEAST_GAIN_S = 2.5, 1e-3
"""A look-up is at least so many times faster than the work, and by at least so many seconds."""


@dataclass
class Replays:
    """Calls one kernel, in its session, on contents that it has seen."""

    session: Session
    findings: Findings

    def look(self, problem: Problem) -> None:
        """Calls on contents that it has seen, or that follow from those, must not be much faster
        than calls on new ones, or take much less of the processors. On a busy machine the time
        until an answer says little, and what the process itself has worked says as much as ever."""
        slots = range(min(_REPLAYED, slots_for(problem)))
        self.session.lay(problem, len(slots))
        seen, generator = [self.session.fresh() for _ in slots], np.random.default_rng()
        self._seconds(seen)
        times: dict[str, list[tuple[float, float]]] = {"new": [], "known": [], "derived": []}
        for count in (_PAIRS, _SURE):
            for _ in range(count):
                # On a busy machine the work before a request decides how soon it runs, so each
                # kind of request has the same work before it.
                for kind, found in times.items():
                    fresh = [self.session.fresh() for _ in slots]
                    if kind == "known":
                        fresh = seen
                    elif kind == "derived":
                        fresh = [derived(problem, one, generator) for one in seen]
                    found.append(self._seconds(fresh))
            if not any(self._looked_up(kind, times) for kind in ("known", "derived")):
                self.findings.passed("cache")
                return
        kind = next(one for one in ("known", "derived") if self._looked_up(one, times))
        self.findings.failed("cache", f"{self._looked_up(kind, times)}: it looks results up")

    def _looked_up(self, kind: str, times: Mapping[str, list[tuple[float, float]]]) -> str:
        """The evidence that contents of a kind are looked up; empty without any."""
        of = "that it had seen before" if kind == "known" else "that follow from earlier ones"
        for clock, what in enumerate(("", " of the processors' time")):
            known, new = ([one[clock] for one in times[which]] for which in (kind, "new"))
            if _faster(known, new):
                return (
                    f"{1e3 * min(known):.3g} ms{what} on contents {of}, "
                    f"{1e3 * min(new):.3g} ms on new ones"
                )
        return ""

    def _seconds(self, contents: list[Arrays]) -> tuple[float, float]:
        """The time of one request to call the kernel on each of these, and what its process has
        worked in it."""
        for slot, arrays in enumerate(contents):
            self.session.write(slot, arrays)
        before = worked_s(self.session.child.pid)
        wall_s = self.session.run(range(len(contents)), look=False).wall_s
        return wall_s, worked_s(self.session.child.pid) - before


def _faster(known: list[float], new: list[float]) -> bool:
    """Whether calls are so much faster than those on new contents that they cannot work."""
    # On a busy machine the shortest time may be luck, but not the median as well.
    all_ = all(of(new) >= _TIMES_FASTER * of(known) for of in (min, median))
    return all_ and min(new) - min(known) >= _LEAST_GAIN_S
