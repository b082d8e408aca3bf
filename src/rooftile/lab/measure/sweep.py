"""Problems drawn at random: is the default choice right, and how near is it to the best rung?

A sweep draws problems of operations (`rooftile.ops.drawing`), one of each in turns, until its time
is over.  Each is climbed in brief: the chosen strategy is verified and timed, and for its regret
every other rung that takes the problem too, in turns.  The regret is the chosen strategy's time
over that of the fastest.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.device import Device
from rooftile.devices.select import open_device, parse_device
from rooftile.errors import InputError, RooftileError
from rooftile.lab.measure.climb import climb_problem
from rooftile.lab.measure.progress import Progress
from rooftile.lab.measure.records import Ladder, Row, median, problem_json
from rooftile.ops import Problem, admits, operations
from rooftile.ops.drawing import draw, shape_text
from rooftile.runtime.selection.choice import choose
from rooftile.runtime.selection.costs import speeds_of
from rooftile.strategies import Strategy, ladder

NEAR = 1.1
"""A choice whose time is at most this many times the best is near it."""
BRIEF_S = 0.2
"""Seconds in which each rung is timed."""
_LIMIT_S = 4.0
"""A rung that would take longer for its exam and its timing is skipped."""
LIMITS = {"cpu": (1e9, 6e7), "cuda": (2e10, 4e8), "opencl": (1e9, 6e7)}
"""The most FLOPs and bytes of a problem, by the kind of device."""


@dataclass(frozen=True)
class Drawn:
    """One drawn problem with the rows of the chosen strategy, and of others for its regret."""

    number: int
    """The problem's number among its operation's draws of the seed: from 0."""
    precision: str
    chosen: str
    """The strategy that is picked without being named."""
    ladder: Ladder
    estimates: dict[str, float | None]
    """Seconds that each strategy estimates; None where it does not."""

    @property
    def problem(self) -> Problem:
        """The problem that was drawn."""
        return self.ladder.problem

    @property
    def row(self) -> Row:
        """The row of the chosen strategy."""
        return next(row for row in self.ladder.rows if row.strategy == self.chosen)

    @property
    def best(self) -> Row:
        """The fastest row; that of the chosen strategy where none has a time."""
        return self.ladder.best("strategy") or self.row

    @property
    def regret(self) -> float | None:
        """The chosen strategy's time over the best's; None where it has no time."""
        return median(self.row) / median(self.best) if self.row.time_ms else None

    def to_json(self) -> dict[str, Any]:
        """The object that ``rooftile sweep --json`` lists."""
        timed = {r.strategy: r.time_ms for r in self.ladder.rows if r.time_ms}
        return {
            "problem": problem_json(self.problem),
            "shape": shape_text(self.problem),
            "number": self.number,
            "precision": self.precision,
            "chosen": self.chosen,
            "status": self.row.status,
            "reason": self.row.reason,
            "best": self.best.strategy,
            "regret": self.regret,
            "times_ms": {name: timing.median for name, timing in timed.items()},
            "fast_ms": {name: timing.p20 for name, timing in timed.items()},
            "estimates_ms": {n: e and 1e3 * e for n, e in self.estimates.items()},
        }


@dataclass(frozen=True)
class Distribution:
    """Regrets of the choices for some problems."""

    problems: int
    mean: float
    """The geometric mean of the chosen strategy's time over the best's."""
    quantiles: tuple[float, float, float]
    """The regrets that 50, 90 and 99 % of the problems are within."""
    near: float
    """The share of the problems whose regret is at most `NEAR`."""
    worst: Drawn

    @classmethod
    def of(cls, found: Sequence[Drawn]) -> Distribution | None:
        """The distribution of those that have a regret; None where none has."""
        pairs = [(regret, one) for one in found if (regret := one.regret) is not None]
        if not pairs:
            return None
        regrets = np.array([regret for regret, _ in pairs])
        half, most, nearly_all = (float(q) for q in np.percentile(regrets, (50, 90, 99)))
        return cls(
            len(pairs),
            float(np.exp(np.log(regrets).mean())),
            (half, most, nearly_all),
            float((regrets <= NEAR).mean()),
            max(pairs, key=lambda pair: pair[0])[1],
        )

    def to_json(self) -> dict[str, Any]:
        """The object that ``rooftile sweep --json`` has for an operation."""
        return {**dataclasses.asdict(dataclasses.replace(self, worst=None)),  # type: ignore[arg-type]
                "worst": self.worst.to_json()}  # fmt: skip


def sweep(
    names: Sequence[str] = (),
    device: str = "cpu",
    *,
    seed: int = 0,
    seconds: float = 60.0,
    regret: bool = False,
    precision: str | None = None,
    progress: Progress = lambda line: None,
    began: Callable[[Ladder], None] = lambda ladder: None,
    found: Callable[[Row], None] = lambda row: None,
) -> Iterator[Drawn]:
    """Draw, verify and time problems of operations in turns for about ``seconds``.

    No ``names``: all operations with strategies on the device. ``regret``: every rung that takes a
    problem at its precision is timed with the chosen one. ``precision`` None: drawn among the
    precisions of the operation's rungs. ``began`` is given each ladder without rows, and ``found``
    each row. Raises `InputError` for an unknown operation or one without strategies on the device,
    and `DeviceMissing`.
    """
    kind, _ = parse_device(device)
    wanted = [name for name in names or operations() if names or _has_rungs(name, kind)]
    for name in wanted:
        ladder(name, kind)
    there, end = open_device(device), time.monotonic() + seconds
    told = {"progress": progress, "began": began, "found": found}
    for number in range(2**31):
        for name in wanted:
            if time.monotonic() > end:
                return
            flops, room = LIMITS[kind]
            problem = draw(name, seed, number, most_flops=flops, most_bytes=room)
            asked = precision or _precision(problem, kind, seed, number)
            candidates = _candidates(problem, asked, there, regret=regret)
            if candidates:
                progress(f"{name} {number}: {shape_text(problem)}")
                drawn = _climbed(there, problem, number, asked, candidates, seed, told)
                yield drawn
                if drawn.ladder.interrupted:
                    raise KeyboardInterrupt


def _climbed(
    device: Device,
    problem: Problem,
    number: int,
    precision: str,
    candidates: Sequence[Strategy],
    seed: int,
    told: Mapping[str, Any],
) -> Drawn:
    """A problem that was drawn, climbed in brief by its candidates, of which the first is chosen;
    ``told`` are the functions that `climb_problem` tells of it."""
    limits: Any = {"precision": precision, "limit_s": _LIMIT_S, "brief_s": BRIEF_S, "seed": seed}
    rungs = [(rung, None) for rung in candidates]
    one = climb_problem(problem, device, rungs, **limits, **told)
    speeds = speeds_of(device.name)
    estimates = {rung.name: rung.estimate(problem, speeds) for rung in candidates}
    return Drawn(number, precision, candidates[0].name, one, estimates)


def _has_rungs(name: str, kind: str) -> bool:
    with suppress(InputError):
        return bool(ladder(name, kind))
    return False


def _precision(problem: Problem, kind: str, seed: int, number: int) -> str:
    """One of the precisions of the operation's rungs."""
    rungs = ladder(problem.operation, kind)
    known = sorted({rung.precision for rung in rungs if rung.why_not(problem) is None})
    generator = np.random.default_rng([seed, number, len(problem.operation)])
    return str(generator.choice(known)) if known else "ieee"


def _candidates(
    problem: Problem, precision: str, device: Device, *, regret: bool
) -> list[Strategy]:
    """The chosen strategy first, then the others that are timed; none where no strategy takes the
    problem."""
    try:
        chosen = choose(problem, precision, device.name)
    except RooftileError:
        return []
    others = [
        rung
        for rung in ladder(problem.operation, device.kind)
        if rung is not chosen and admits(precision, rung.precision) and not rung.why_not(problem)
    ]
    found = [chosen, *others] if regret else [chosen]
    if device.kind == "cuda":
        _compile(found, problem, device)
    return found


def _compile(rungs: Sequence[Any], problem: Problem, device: Any) -> None:
    """Compile the kernels of several rungs at a time: the cache has them when they are bound."""

    def compiled(rung: Any) -> None:
        with suppress(Exception), device.on():
            rung.compile(problem, device)

    with ThreadPoolExecutor(max(1, min(8, cpu.cores() - 1))) as pool:
        list(pool.map(compiled, rungs))


def by_operation(found: Sequence[Drawn]) -> dict[str, Distribution]:
    """The distribution of each operation's problems."""
    names = dict.fromkeys(one.problem.operation for one in found)
    grouped = {name: [one for one in found if one.problem.operation == name] for name in names}
    made = {name: Distribution.of(group) for name, group in grouped.items()}
    return {name: one for name, one in made.items() if one is not None}


__all__ = ["NEAR", "Distribution", "Drawn", "by_operation", "sweep"]
