"""A contest on a processor that OpenCL drives: each candidate in a child process.

What crashes there is a row, and the child is started again for the next candidate.  One child
serves as long as all goes well, so that it opens the device and makes the exam's arrays once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rooftile.devices.device import Device
from rooftile.devices.select import open_device
from rooftile.lab.measure.ceilings.cpu import Roof
from rooftile.lab.measure.contest import Candidate, Contest
from rooftile.lab.measure.entry import VerifiedCandidate
from rooftile.lab.measure.process import CannotSend, Child, Ended
from rooftile.lab.measure.records import Row
from rooftile.ops import Problem
from rooftile.strategies import Strategy


@dataclass(frozen=True)
class Rules:
    """The rules of a contest, as a child is sent them."""

    problem: Problem
    device: str
    roof: Roof | None = None
    trusted: bool = True
    precision: str | None = None
    limit_s: float = math.inf
    seed: int = 0
    neighbours: bool = True


def runs_apart(device: Device) -> bool:
    """True if a device's kernels run in the process that starts them, other than our own."""
    described: Any = getattr(device, "description", None)
    return device.kind == "opencl" and described is not None and not described.gpu


class Apart:
    """Candidates under some rules, judged in a child; close it, or use it in a ``with``."""

    def __init__(self, rules: Rules, report: Callable[[str], None] = lambda line: None) -> None:
        self._rules, self._report, self._child = rules, report, Child()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close()

    def row(self, rung: Strategy, config: Any = None) -> Row:
        """One candidate, verified and timed alone."""
        (row,) = self.rows([(rung, config)])
        return row

    def rows(self, candidates: Sequence[Candidate]) -> tuple[Row, ...]:
        """Candidates verified, and timed in turns, but for those that end the process. What a child
        cannot import is judged in this process."""
        crashed: dict[int, Row] = {}
        while True:
            left = [i for i in range(len(candidates)) if i not in crashed]
            under_way: list[int] = []

            def hear(said: int | str, under_way: list[int] = under_way) -> None:
                if isinstance(said, str):
                    self._report(said)
                else:
                    under_way[:] = [said]

            try:
                given = [candidates[i] for i in left]
                made = self._child.call(_judged, self._rules, given, hear=hear) if given else ()
            except CannotSend:
                made = _judged(hear, self._rules, given)
            except Ended as ended:
                if not under_way:
                    # It does not even start, or ends where no candidate runs.
                    crashed |= {i: self._crashed(candidates[i], ended) for i in left}
                else:
                    worst = left[under_way[0]]
                    crashed[worst] = self._crashed(candidates[worst], ended)
                continue
            found = {**crashed, **dict(zip(left, made, strict=True))}
            if any(row.status in ("failed", "error") for row in made):
                # Kernels that are wrong may have written beyond their arrays.
                self._child.close()
            return tuple(found[i] for i in range(len(candidates)))

    def _crashed(self, candidate: Candidate, ended: Ended) -> Row:
        rung, config = candidate
        reason = f"the process that ran it ended {ended}"
        return Row(
            "strategy",
            rung.name,
            self._rules.device,
            rung.precision,
            "error",
            reason,
            dict(config or {}),
            cause="crashed",
        )


def _judged(
    say: Callable[[int | str], None], rules: Rules, candidates: Sequence[Candidate]
) -> tuple[Row, ...]:
    """In the child: the rows; says which candidate is running."""
    contest = _contest(rules)
    contest.report = say
    with contest.device.on():
        found: list[Row | VerifiedCandidate] = []
        for number, candidate in enumerate(candidates):
            say(number)
            found.append(contest.strategy(*candidate))
        if len(candidates) == 1:
            return contest.rows(found)
        return _timed(say, contest, found)


def _timed(
    say: Callable[[int | str], None], contest: Contest, found: Sequence[Row | VerifiedCandidate]
) -> tuple[Row, ...]:
    """Several candidates in turns, each of which says that it is running."""
    for number, one in enumerate(found):
        if isinstance(one, VerifiedCandidate):
            say(number)
            contest.clock.repeat(one.work)
            contest.device.synchronise()
    return contest.rows(found)


@lru_cache(maxsize=1)
def _contest(rules: Rules) -> Contest:
    device = open_device(rules.device)
    with device.on():
        return Contest(
            rules.problem,
            device,
            rules.roof,
            rules.trusted,
            rules.precision,
            rules.limit_s,
            rules.seed,
            neighbours=rules.neighbours,
        )


__all__ = ["Apart", "Rules", "runs_apart"]
