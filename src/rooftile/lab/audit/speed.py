"""How long a foreign kernel takes, by the judge's clock and on inputs that are always new.

A sample is a request to call the kernel on several sets of arrays, which are filled with new
contents while its process is frozen.  The clock runs from thawing the process until its answer.
The results must be there then: some of them, chosen afterwards, are compared with the reference.
So a time is never too short.  It holds what a caller pays: the launch, the wait for the
device, the delivery of a returned result.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.judge import Judge
from rooftile.lab.audit.poison import strength, too_many
from rooftile.lab.audit.session import Arrays, Run, Seen, Session, slots_for
from rooftile.ops import Array, Problem
from rooftile.runtime.timing.device import contradiction
from rooftile.runtime.timing.host import Timing, is_steady, timing_of

_WINDOW_S = 0.02
"""A sample lasts about this long, where the slots suffice: an answer takes 0.1 ms to arrive."""
_SECONDS = 3.0
"""Timing ends after so many seconds, steady or not."""
_LEAST, _MOST = 5, 40
"""Numbers of samples: the least and the most."""
_CHECKED_FLOPS = 2 * 10**9
"""Where a result takes more FLOPs than this, only some items of a batch are compared."""
_AGREE, _SLACK_S = 0.5, 5e-3
"""Two clocks agree when one says at least this share of the other's time, less so many seconds."""
_EVENT_SLACK_S = 2e-3
"""Seconds of the judge's time that a GPU's events may miss, while the answer is on its way."""


@dataclass
class Speed:
    """The timing of one kernel that was right."""

    session: Session
    judge: Judge
    findings: Findings
    runs: list[Run] = field(default_factory=list)

    def measure(self, problem: Problem) -> Timing | None:
        """The time of a call in milliseconds; None when a result of a timed call was wrong."""
        session, slots = self.session, slots_for(problem)
        session.lay(problem, slots)
        generator = np.random.default_rng()
        arrays = [session.fresh() for _ in range(slots)]
        once = self._sample(arrays[:1]).wall_s
        once = min(once, self._sample(arrays[:1]).wall_s)
        count = max(1, min(slots, round(_WINDOW_S / once)))
        self._sample(arrays[:count])
        times: list[float] = []
        start = time.perf_counter()
        while len(times) < _MOST:
            given = [_renewed(problem, one, generator) for one in arrays[:count]]
            run = self._sample(given, phase="timed")
            self.runs.append(run)
            times.append(run.wall_s / count)
            if not self._right(problem, run, given, generator):
                return None
            spent = time.perf_counter() - start
            if len(times) >= _LEAST and (is_steady(times) or spent > _SECONDS):
                break
        self._clocks()
        return timing_of(times)

    def _sample(self, arrays: list[Arrays], phase: str = "run") -> Run:
        for slot, one in enumerate(arrays):
            self.session.write(slot, one)
        return self.session.run(range(len(arrays)), phase=phase)

    def _right(
        self, problem: Problem, run: Run, given: list[Arrays], generator: np.random.Generator
    ) -> bool:
        """Whether no result holds poison, and one of them, or some of its items, is right."""
        for slot, seen in enumerate(run.seen):
            suspect = _is_suspect(problem, seen) or not seen.intact or seen.altered
            if suspect and not self.judge.judge(run, slot, given[slot], "in a timed call"):
                return False
        slot = int(generator.integers(len(given)))
        outs, arrays = run.seen[slot].outs, given[slot]
        items = problem.batch_size
        if items is not None:
            count = max(1, min(items, int(_CHECKED_FLOPS * items / max(1, problem.flops))))
            chosen = np.sort(generator.choice(items, count, replace=False))
            outs = _items(problem.output_arrays, outs, chosen)
            arrays = _items(problem.given_arrays, arrays, chosen)
        right = self.judge.agrees(outs, arrays)
        if not right:
            self.judge.judge(run, slot, given[slot], "in a timed call")
        return right

    def _clocks(self) -> None:
        """Compare what the process's clocks said with the judge's."""
        told = [(run.wall_s, _number(run.told.get("seconds"))) for run in self.runs]
        short = min(wall - said for wall, said in told)
        if not any(said >= _AGREE * wall - _SLACK_S for wall, said in told):
            self.findings.failed(
                "timers", f"in every sample its clock missed at least {1e3 * short:.3g} ms"
            )
        if not any(said <= 1.1 * wall + _SLACK_S for wall, said in told):
            self.findings.failed("timers", f"its clock ran {-1e3 * short:.3g} ms longer than ours")
        events = {"library_s": "the library's events", "event_s": "the driver's"}
        for name, what in events.items() if self.session.kernel.kind == "cuda" else ():
            pairs = [(_number(run.told.get(name)), run.wall_s) for run in self.runs]
            against = contradiction(pairs, _EVENT_SLACK_S)
            if against:
                self.findings.failed("timers", f"by {what} {against}")
        self.findings.passed("timers")


def _items(places: Sequence[Array], arrays: Arrays, chosen: NDArray[np.int64]) -> Arrays:
    """Some items of arrays with a batch; the others as they are."""
    pairs = zip(places, arrays, strict=True)
    return tuple(array[chosen] if place.batched else array for place, array in pairs)


def _is_suspect(problem: Problem, seen: Seen) -> bool:
    """Whether an output holds a NaN, or more of its poison than by chance."""
    return any(
        too_many(int(left.sum()), out.size, strength(output))
        or (output.numpy.kind in "fV" and bool(np.isnan(out).any()))
        for output, out, left in zip(problem.output_arrays, seen.outs, seen.left, strict=True)
    )


def _renewed(problem: Problem, arrays: Arrays, generator: np.random.Generator) -> Arrays:
    """New contents; for floats they cost about as much as a copy.

    All numbers are scaled, one is changed, and the items of a batch come in another order.
    """
    places, items = problem.given_arrays, problem.batch_size
    if any(place.numpy.kind not in "fV" for place in places):
        return problem.random(secrets.randbits(128))
    order = None if items is None else generator.permutation(items)
    scales = {role: generator.uniform(0.7, 1.4) for role in ("input", "parameter")}
    made = []
    for place, array in zip(places, arrays, strict=True):
        values = array[order] if place.batched else array.copy()
        values *= values.dtype.type(scales[place.role])
        if place.role == "input":
            values.reshape(-1)[generator.integers(values.size)] += values.dtype.type(1)
        made.append(values)
    return tuple(made)


def _number(value: object) -> float:
    known = isinstance(value, int | float) and math.isfinite(value)
    return float(value) if known else 0.0  # type: ignore[arg-type]
