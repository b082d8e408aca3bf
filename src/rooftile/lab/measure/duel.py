"""Two strategies on one problem: both verified, then timed in turns until the verdict is clear."""

from __future__ import annotations

import math

from rooftile.devices.select import open_device, parse_device
from rooftile.errors import UnsupportedProblem, VerificationFailure
from rooftile.lab.measure.contest import Contest
from rooftile.lab.measure.entry import VerifiedCandidate
from rooftile.lab.measure.history.compare import Comparison, ab, device_ms
from rooftile.lab.measure.records import Row
from rooftile.ops import Problem
from rooftile.runtime.timing.host import round_ms
from rooftile.strategies import Config, strategy

Named = str | tuple[str, Config]
"""A strategy by name, perhaps with a config."""


def contest(
    problem: Problem,
    a: Named,
    b: Named,
    device: str = "cpu",
    *,
    seconds: float = 10.0,
    effect: float = 0.01,
    level: float = 0.05,
    seed: int = 0,
) -> Comparison:
    """Strategy ``b`` against ``a`` on random inputs; see `rooftile.lab.measure.history.compare.ab`.

    The data is in the device's memory and the times are warm. Raises `InputError`, `DeviceMissing`,
    `UnsupportedProblem` for a strategy that does not take the problem or does not run, and
    `VerificationFailure` for one that is wrong.
    """
    kind, _ = parse_device(device)
    names = [(one, None) if isinstance(one, str) else one for one in (a, b)]
    rungs = [(strategy(problem.operation, name, kind), config) for name, config in names]
    for rung, _ in rungs:
        rung.check(problem)
    place = open_device(device)
    sample = round_ms if kind == "cpu" else device_ms
    with place.on():
        rules = Contest(problem, place, seed=seed)
        entries = [_admitted(rules.strategy(rung, config)) for rung, config in rungs]
        for entry in entries:
            rules.judge_batch(entry.result(), entry.errors).raise_if_wrong()
        works = (entry.work for entry in entries)
        return ab(*works, sample=sample, seconds=seconds, effect=effect, level=level)


def _admitted(found: Row | VerifiedCandidate) -> VerifiedCandidate:
    if isinstance(found, VerifiedCandidate):
        return found
    if found.cause == "wrong":
        fraction = found.error.budget_fraction if found.error else math.nan
        raise VerificationFailure((), fraction, 0.0, 1.0, f"{found.strategy} ({found.reason})")
    raise UnsupportedProblem(found.strategy, found.reason)
