"""The choice of a problem's strategy: a named one, a tuning's winner, else the least estimate.

Each strategy estimates its time on the machine, see `rooftile.strategies.Strategy.estimate`.  Where
estimates are about equal, or there are none, the order of preference in the operation's folder
decides (`rooftile.strategies.preference`).  A choice is decided once and kept until a tuning adds a
winner.  `explain_choice` says of every strategy why it was taken or passed over.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from rooftile.devices.select import describe_gpu, lent_gpu, parse_device
from rooftile.errors import DeviceMissing, InputError, UnsupportedProblem
from rooftile.ops import FORMATS, Chain, Problem, check_precision
from rooftile.runtime.selection.costs import speeds_of
from rooftile.runtime.selection.tuned import Stamp, Tunings, stamp, tunings
from rooftile.strategies import Strategy, ladder, preference
from rooftile.strategies import strategy as by_name
from rooftile.strategies.contract.strategy import fastest

if TYPE_CHECKING:
    from rooftile.devices.gpu import GpuDevice

ROUNDING_KINDS = ("cuda",)
"""The kinds of device with strategies at ``tf32``, ``fp16`` and ``bf16``, on tensor cores."""
_RECENT_S = 0.05
"""Seconds for which another process's winner may go unseen."""
MOST_KEPT = 4096
"""Largest number of kept choices; where one more comes, all are dropped."""
_FASTEST = "the fastest that takes the problem"
BY_NAME = "taken by name only: where it pays is not known"
TUNED = "a tuning on this device found it faster than what was picked before"


@dataclass(frozen=True)
class Choice:
    """A strategy for a problem on a device."""

    strategy: Strategy
    problem: Problem
    device: str
    tunings: Tunings
    """The tunings of the problem on the device's kind."""

    @cached_property
    def config(self) -> dict[str, int] | None:
        """The config that a tuning found best; None stands for the strategy's own default. Asking
        opens the GPU. Raises `DeviceMissing`."""
        kind, index = parse_device(self.device)
        if kind == "cpu":
            return None  # The CPU's strategies have no tunables.
        return self.tunings.config(self.strategy, describe_gpu(kind, index).name)

    @cached_property
    def gpu(self) -> GpuDevice:
        """The GPU; the thread's own stays what it is.  Raises `DeviceMissing`."""
        return lent_gpu(self.device)

    @cached_property
    def compiled(self) -> dict[Any, Any]:
        """Its executables, by device: callers keep them here, as long as the choice is kept."""
        return {}


@dataclass(frozen=True)
class Consideration:
    """A choice's decision on a strategy, with the reason."""

    strategy: str
    taken: bool
    reason: str


_Key = tuple[Problem, str, str, str | None, bool]
kept: dict[_Key, tuple[Stamp, Choice]] = {}
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
        seen, choice = kept[problem, precision, device, strategy, once]
        if seen == now:
            return choice
    except (KeyError, TypeError):
        pass
    choice = _decided(problem, precision, device, strategy, once)
    if len(kept) >= MOST_KEPT:
        kept.clear()
    kept[problem, precision, device, strategy, once] = now, choice
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
    there = partial(_architecture, device)
    for rung in preference(problem.operation, kind):
        pays = rung.precision == precision and rung.pays(problem)
        if pays and rung.why_passed_over(problem, precision, there) is None:
            return Choice(rung, problem, device, tunings(problem, kind))
    return None


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
    preferred = preference(problem.operation, kind)

    def of(rung: Strategy) -> Consideration:
        if rung is chosen:
            return Consideration(rung.name, True, TUNED if tuned else _FASTEST)
        if rung not in preferred:
            return Consideration(rung.name, False, rung.why_refused(problem, precision) or BY_NAME)
        there = partial(_architecture, device)
        against = rung.why_passed_over(problem, precision, there) or slower(rung)
        return Consideration(rung.name, False, against or f"{later} {chosen.name}")

    def slower(rung: Strategy) -> str:
        """Both estimates, where they decided."""
        if tuned:
            return ""
        own, least = (one.estimate(problem, speeds_of(device)) for one in (rung, chosen))
        if own is None or least is None:
            return ""
        return f"estimated at {1e6 * own:.3g} us, {chosen.name} at {1e6 * least:.3g} us"

    others = [r for r in reversed(ladder(problem.operation, kind)) if r not in preferred]
    return tuple(map(of, (*preferred, *others)))


def _decided(
    problem: Problem, precision: str, device: str, strategy: str | None, once: bool
) -> Choice:
    check_precision(precision)
    kind, index = parse_device(device)
    if precision in FORMATS and kind not in ROUNDING_KINDS:
        instead = (
            f"'ieee' or 'fast' on {kind}: only tensor cores of device 'cuda' round their inputs"
        )
        raise InputError("precision", repr(precision), instead)
    try:
        preferred = preference(problem.operation, kind)
    except InputError:
        raise UnsupportedProblem(
            "any", f"{problem.operation} has no strategies on {kind} yet", 'device="cpu"'
        ) from None
    named = None if strategy is None else by_name(problem.operation, strategy, kind)
    found = tunings(problem, kind)
    chosen = named or found.strategy(precision, index)
    if named is not None:
        named.check(problem, precision)
    if chosen is None:
        taking = [
            rung
            for rung in preferred
            if rung.why_passed_over(problem, precision, partial(_architecture, device)) is None
        ]
        if not taking:
            takes, instead = f"takes {problem}", ""
            if problem.double and kind != "cpu":
                takes, instead = f"on {kind} takes float64", 'device="cpu", or float32'
            reason = f"no strategy of {problem.operation} {takes}"
            raise UnsupportedProblem("any", reason, instead)
        chosen = fastest(taking, problem, partial(speeds_of, device), once=once)
    return Choice(chosen, problem, device, found)


def _architecture(device: str) -> str | None:
    """The architecture of a device, which is opened; None where it is missing."""
    try:
        return lent_gpu(device).description.architecture
    except DeviceMissing:
        return None
