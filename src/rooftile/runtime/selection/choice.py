"""Which strategy computes a problem: a named one, a tuning's winner, else the least estimate.

Each strategy estimates its time on the machine, see `rooftile.strategies.Strategy.estimate`.  Where
it has no estimate, the order of preference in the operation's folder decides
(`rooftile.strategies.preference`), and each strategy says itself where it is slow.  A choice is
decided once and kept until a tuning adds a winner.  `explain_choice` says of every strategy why it
was taken or passed over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rooftile.devices.select import describe_gpu, lent_gpu, parse_device
from rooftile.errors import DeviceMissing, InputError, UnsupportedProblem
from rooftile.ops import FORMATS, Chain, Problem, admits, check_precision
from rooftile.runtime.selection.costs import speeds_of
from rooftile.runtime.selection.tuned import Stamp, Tunings, stamp, tunings
from rooftile.strategies import Strategy, ladder, preference
from rooftile.strategies import strategy as by_name
from rooftile.strategies.contract.strategy import costs_of

ROUNDING_KINDS = ("cuda",)
"""The kinds of device with strategies at ``tf32``, ``fp16`` and ``bf16``, on tensor cores."""
_RECENT_S = 0.05
"""Seconds for which another process's winner may go unseen."""
_MOST_KEPT = 4096
"""How many choices are kept; where one more comes, all are dropped."""
_LESS = 0.97
"""An estimate is less than another where it is at most this share of it."""
_FASTEST = "the fastest that takes the problem"
_BY_NAME = "taken by name only: where it pays is not known"
_TUNED = "a tuning on this device found it faster than what was picked before"


@dataclass(frozen=True)
class Choice:
    """A strategy for a problem on a device."""

    strategy: Strategy
    problem: Problem
    device: str
    tunings: Tunings
    """Those of the problem on the device's kind."""

    @cached_property
    def config(self) -> dict[str, int] | None:
        """The config that a tuning found best; None stands for the strategy's own default. Asking
        opens the GPU. Raises `DeviceMissing`."""
        kind, index = parse_device(self.device)
        if kind == "cpu":
            return None  # The CPU's strategies have no tunables.
        return self.tunings.config(self.strategy, describe_gpu(kind, index).name)

    @cached_property
    def compiled(self) -> dict[Any, Any]:
        """What it is compiled to, by device: kept here by whoever runs it, as long as the choice
        is."""
        return {}


@dataclass(frozen=True)
class Consideration:
    """Whether a choice took a strategy, and why."""

    strategy: str
    taken: bool
    reason: str


_Key = tuple[Problem, str, str, str | None, bool]
_kept: dict[_Key, tuple[Stamp, Choice]] = {}
_looked: tuple[float, Stamp] = (-math.inf, ())
"""When the database was last looked at, and what it was."""


def decide(
    problem: Problem,
    precision: str = "ieee",
    device: str = "cpu",
    strategy: str | None = None,
    *,
    once: bool = False,
) -> Choice:
    """The strategy to compute a problem with, and its config.

    A named ``strategy`` must take the problem at this precision; None means the fastest known for
    it, of a single call where it is for ``once``: what packs parameters counts then.  Raises
    `InputError` for an unknown precision, device or strategy, and `UnsupportedProblem` where the
    named strategy cannot do it or the operation has none on that kind of device. A device that is
    missing raises nothing here.
    """
    # The CPU's strategies are not tuned.
    now: Stamp = () if device == "cpu" else recent_stamp()
    try:
        seen, choice = _kept[problem, precision, device, strategy, once]
        if seen == now:
            return choice
    except (KeyError, TypeError):
        pass
    choice = _decided(problem, precision, device, strategy, once)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[problem, precision, device, strategy, once] = now, choice
    return choice


def look_again() -> None:
    """Look at the database in the next call: this process has added a winner."""
    global _looked
    _looked = -math.inf, ()


def recent_stamp() -> Stamp:
    """The stamp of the database as it was a moment ago: to look takes as long as a small call."""
    global _looked
    now = time.monotonic()
    if now - _looked[0] > _RECENT_S:
        _looked = now, stamp()
    return _looked[1]


def choose(
    problem: Problem, precision: str = "ieee", device: str = "cpu", strategy: str | None = None
) -> Strategy:
    """The strategy of `decide`.  Raises its errors."""
    return decide(problem, precision, device, strategy).strategy


def decide_together(problem: Chain, precision: str, device: str) -> Choice | None:
    """The strategy that computes several layers as one, where that is faster; None where not.

    Raises `InputError` for an unknown device.
    """
    kind, _ = parse_device(device)
    for rung in preference(problem.operation, kind):
        if rung.precision == precision and _against(rung, problem, precision, device) is None:
            return Choice(rung, problem, device, tunings(problem, kind))
    return None


def first_of(
    rungs: Iterable[Strategy], problem: Problem, precision: str, device: str
) -> tuple[Strategy | None, str]:
    """The first of some strategies that pays for a problem, and why the last does not.

    Raises `InputError` for an unknown precision or device.
    """
    check_precision(precision)
    parse_device(device)
    reason: str | None = None
    for rung in rungs:
        reason = _against(rung, problem, precision, device)
        if reason is None:
            return rung, ""
    return None, reason or "there is no strategy"


def explain_choice(
    problem: Problem, precision: str = "ieee", device: str = "cpu"
) -> tuple[Consideration, ...]:
    """Every strategy in order of preference, with why it was taken or not.

    Raises the errors of `choose`.
    """
    choice = decide(problem, precision, device)
    chosen, (kind, index) = choice.strategy, parse_device(device)
    later = "measured slower than" if kind == "cpu" else "preferred to it is"
    tuned = choice.tunings.strategy(precision, index)

    def of(rung: Strategy, against: str | None) -> Consideration:
        if rung is chosen:
            return Consideration(rung.name, True, _TUNED if tuned else _FASTEST)
        return Consideration(rung.name, False, against or slower(rung) or f"{later} {chosen.name}")

    def slower(rung: Strategy) -> str:
        """Both estimates, where they decided."""
        estimates = [_estimated(one, problem, device) for one in (rung, chosen)]
        if tuned or None in estimates:
            return ""
        own, least = (f"{1e6 * (seconds or 0.0):.3g} us" for seconds in estimates)
        return f"estimated at {own}, {chosen.name} at {least}"

    considered = [of(*pair) for pair in _considered(problem, precision, device)]
    preferred = preference(problem.operation, kind)
    others = [r for r in reversed(ladder(problem.operation, kind)) if r not in preferred]
    named = [of(rung, _not_asked_for(rung, problem, precision) or _BY_NAME) for rung in others]
    return (*considered, *named)


def _decided(
    problem: Problem, precision: str, device: str, strategy: str | None, once: bool
) -> Choice:
    check_precision(precision)
    kind, index = parse_device(device)
    _check_rounding(precision, kind)
    _check_operation(problem, kind)
    found = tunings(problem, kind)
    if strategy is not None:
        return Choice(_named(problem, precision, strategy, kind), problem, device, found)
    tuned = found.strategy(precision, index)
    if tuned is not None:
        return Choice(tuned, problem, device, found)
    taking = [
        rung
        for rung, reason in _considered(problem, precision, device)
        if reason is None and not (once and rung.why_slow_once(problem))
    ]
    if taking:
        return Choice(_fastest(taking, problem, device), problem, device, found)
    if problem.double and kind != "cpu":
        raise UnsupportedProblem(
            "any", f"no strategy of {problem.operation} on {kind} takes float64",
            'device="cpu", or float32',
        )  # fmt: skip
    raise UnsupportedProblem("any", f"no strategy of {problem.operation} takes {problem}")


def _fastest(rungs: Sequence[Strategy], problem: Problem, device: str) -> Strategy:
    """The strategy of the least estimate; one without an estimate keeps its place in the order of
    preference, which also decides where estimates are about equal."""
    best = rungs[0]
    if len(rungs) == 1 or (least := _estimated(best, problem, device)) is None:
        return best
    for rung in rungs[1:]:
        seconds = _estimated(rung, problem, device)
        if seconds is not None and seconds < _LESS * least:
            best, least = rung, seconds
    return best


def _estimated(rung: Strategy, problem: Problem, device: str) -> float | None:
    """The seconds that a strategy estimates; None on OpenCL, where no costs were fitted."""
    if parse_device(device)[0] == "opencl" or costs_of(rung, problem.case) is None:
        return None
    return rung.estimate(problem, speeds_of(device))


def _check_rounding(precision: str, kind: str) -> None:
    """Raise `InputError` for a precision that rounds, where no strategy does."""
    if precision in FORMATS and kind not in ROUNDING_KINDS:
        raise InputError(
            "precision",
            repr(precision),
            f"'ieee' or 'fast' on {kind}: only tensor cores of device 'cuda' round their inputs",
        )


def _check_operation(problem: Problem, kind: str) -> None:
    try:
        ladder(problem.operation, kind)
    except InputError:
        raise UnsupportedProblem(
            "any", f"{problem.operation} has no strategies on {kind} yet", 'device="cpu"'
        ) from None


def _named(problem: Problem, precision: str, name: str, kind: str) -> Strategy:
    if not isinstance(name, str):
        names = [rung.name for rung in ladder(problem.operation, kind)]
        raise InputError("strategy", repr(name), f"None or one of {names}")
    rung = by_name(problem.operation, name, kind)
    if not admits(precision, rung.precision):
        raise UnsupportedProblem(
            name,
            f"its precision is {rung.precision!r}, asked was {precision!r}",
            f"precision={rung.precision!r}",
        )
    rung.check(problem)
    return rung


def _considered(
    problem: Problem, precision: str, device: str
) -> Iterator[tuple[Strategy, str | None]]:
    """The strategies by preference, each with why it is out of the question (None: it is not)."""
    kind, _ = parse_device(device)
    for rung in preference(problem.operation, kind):
        yield rung, _against(rung, problem, precision, device)


def _against(rung: Strategy, problem: Problem, precision: str, device: str) -> str | None:
    return (
        _not_asked_for(rung, problem, precision)
        or rung.why_slow(problem)
        or _not_of_this(rung, device)
    )


def _not_asked_for(rung: Strategy, problem: Problem, precision: str) -> str | None:
    if not admits(precision, rung.precision):
        return f"its precision is {rung.precision!r}, asked was {precision!r}"
    return rung.why_not(problem)


def _not_of_this(rung: Strategy, device: str) -> str | None:
    """Why the device cannot run a strategy; None where it can. It is asked last, because it opens
    the device unless every device runs the strategy."""
    if rung.anywhere:
        return None
    try:
        return rung.why_not_on(lent_gpu(device).description.architecture)
    except DeviceMissing:
        return rung.why_not_on(None)
