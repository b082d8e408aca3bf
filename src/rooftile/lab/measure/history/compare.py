"""Is B faster than A? An interval for the ratio of their times, and the verdict.

The interval comes from order statistics: for the median of independent samples the k-th smallest
and the k-th largest enclose it with a probability that follows from the binomial distribution
alone, whatever the noise looks like (David and Nagaraja, "Order Statistics", 3rd ed., section 7.1).
Times have long tails and several modes, for which a normal distribution's interval, or a
bootstrap's with few samples, promises too much.

- For times taken in turns (`paired`) it is the interval of the median of the ratios turn by turn,
  so that a drift through both cancels.
- For separate times (`unpaired`) it is made of the quotients of the ends of each median's interval.

A difference below ``effect``, the smallest of interest, counts as none. So the verdict is ``same``
where the whole interval is within it, ``faster`` or ``slower`` where the whole interval is beyond
it, and else ``cannot tell``. Where the true difference is no larger than ``effect``, the verdict is
faster or slower at most with the probability ``level``; where it is larger, the verdict is the same
at most with that probability.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeVar

from rooftile.errors import InputError
from rooftile.runtime.timing.device import TimedLaunches
from rooftile.runtime.timing.host import round_ms

Outcome = Literal["faster", "slower", "same", "cannot tell"]

LOOKS = (10, 20, 40, 80, 160)
"""After how many turns `ab` looks at the interval.  Each look may err, so each gets its share of
the level (Bonferroni): stopping at a verdict does not raise the rate of false alarms."""
_FUTILE = 100.0
"""A verdict that would take more than this multiple of the samples is not promised."""

Contestant = TypeVar("Contestant")


@dataclass(frozen=True)
class Comparison:
    """The verdict on B against A."""

    outcome: Outcome
    ratio: float
    """B's time over A's."""
    low: float
    high: float
    """The interval of the ratio; 0 and infinity where there are too few samples for one."""
    effect: float
    level: float
    samples: tuple[int, int]
    """Numbers of samples of A and of B."""
    more: int | None = None
    """Number of further samples of each that would probably decide. None where the verdict is
    clear, or where the ratio is too close to the smallest effect."""

    def __str__(self) -> str:
        """The verdict in one line."""
        by = f"{self.ratio:.3f} x the time"
        if not math.isfinite(self.high):
            return f"{self.outcome}: {by}, too few samples; {self.more} more would give an interval"
        line = f"{self.outcome}: {by} ({self.low:.3f} to {self.high:.3f})"
        if self.outcome != "cannot tell":
            return line
        if self.more is None:
            return f"{line}; it is the smallest effect of interest, {100 * self.effect:g} %, itself"
        return f"{line}; about {self.more} more samples of each would tell"


def paired(
    a: Sequence[float], b: Sequence[float], *, effect: float = 0.01, level: float = 0.05
) -> Comparison:
    """Compare times that were taken in turns, in the order of the turns.

    Where one has more samples, its last ones are left out.  Raises `InputError`.
    """
    _check(a, b, effect, level)
    count = min(len(a), len(b))
    ratios = sorted(y / x for x, y in zip(a, b, strict=False))
    found = _interval(ratios, level)
    return _judged(statistics.median(ratios), found, (count, count), effect, level, level)


def unpaired(
    a: Sequence[float], b: Sequence[float], *, effect: float = 0.03, level: float = 0.05
) -> Comparison:
    """Compare times of two runs.  Raises `InputError`.

    The interval knows only of the noise within each run; ``effect`` must cover what changes from
    one run to the next (clocks, memory layout, neighbours).
    """
    _check(a, b, effect, level)
    # Both intervals are right at once with the probability 1 - level.
    each = 1 - math.sqrt(1 - level)
    first, second = _interval(sorted(a), each), _interval(sorted(b), each)
    found = (second[0] / first[1], second[1] / first[0]) if first and second else None
    ratio = statistics.median(b) / statistics.median(a)
    return _judged(ratio, found, (len(a), len(b)), effect, level, each)


def ab(
    a: Contestant,
    b: Contestant,
    *,
    sample: Callable[[Contestant], float] = round_ms,  # type: ignore[assignment]
    seconds: float = 10.0,
    effect: float = 0.01,
    level: float = 0.05,
) -> Comparison:
    """Time two in turns, until the verdict is clear or about ``seconds`` are over.

    ``a`` and ``b`` are callables, timed on the CPU's clock in rounds
    (`rooftile.runtime.timing.host`), or whatever else ``sample`` takes a time of: `device_ms` for
    work on a GPU. The order changes from turn to turn. There are at least ten turns. Raises
    `InputError`.
    """
    times: tuple[list[float], list[float]] = ([], [])
    share = level / len(LOOKS)
    for contestant in (a, b):
        sample(contestant)  # compiles, allocates, warms up
    start = time.perf_counter()
    turn = 0
    while True:
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].append(sample((a, b)[which]))
        turn += 1
        late = turn >= LOOKS[0] and time.perf_counter() - start > seconds
        if not late and turn not in LOOKS:
            continue
        found = paired(*times, effect=effect, level=share)
        if late or turn == LOOKS[-1] or found.outcome != "cannot tell":
            return dataclasses.replace(found, level=level)


def device_ms(work: TimedLaunches) -> float:
    """One warm sample of work on a GPU, by the device's clock, free of launch latency."""
    work.clock.synchronise()
    work.many()
    before = work.clock.mark()
    work.many()
    after = work.clock.mark()
    work.clock.synchronise()
    return work.clock.between(before, after) / work.count


def least_samples(level: float) -> int:
    """The fewest samples of which the smallest and the largest enclose the median."""
    return math.ceil(1 + math.log2(1 / level))


@lru_cache(maxsize=1024)
def rank(count: int, level: float) -> int:
    """The largest k for which the k-th smallest and k-th largest of ``count`` samples enclose the
    median with a probability of at least ``1 - level``; 0 where none do."""
    # P(fewer than k of count samples lie below the median) in units of 2^-count, exactly.
    most, tail, ways, k = Fraction(level) * 2**count, 0, 1, 0
    while 2 * (tail + ways) <= most and 2 * (k + 1) <= count:
        tail += ways
        ways = ways * (count - k) // (k + 1)
        k += 1
    return k


def _interval(ordered: Sequence[float], level: float) -> tuple[float, float] | None:
    k = rank(len(ordered), level)
    return (ordered[k - 1], ordered[-k]) if k else None


def _judged(
    ratio: float,
    found: tuple[float, float] | None,
    samples: tuple[int, int],
    effect: float,
    level: float,
    each: float,
) -> Comparison:
    if found is None:
        missing = least_samples(each) - min(samples)
        return Comparison("cannot tell", ratio, 0.0, math.inf, effect, level, samples, missing)
    low, high = found
    edge = 1 + effect
    outcome: Outcome = "cannot tell"
    if low > edge:
        outcome = "slower"
    elif high < 1 / edge:
        outcome = "faster"
    elif low >= 1 / edge and high <= edge:
        outcome = "same"
    more = _more(ratio, low, high, edge, min(samples)) if outcome == "cannot tell" else None
    return Comparison(outcome, ratio, low, high, effect, level, samples, more)


def _more(ratio: float, low: float, high: float, edge: float, count: int) -> int | None:
    """Number of further samples until the interval meets no edge of the band. The interval shrinks
    with the square root of their number. None where that is out of reach."""
    share = 1.0
    for limit in (-math.log(edge), math.log(edge)):
        end = math.log(high if limit > math.log(ratio) else low)
        width, room = abs(end - math.log(ratio)), abs(limit - math.log(ratio))
        if width > room:
            share = min(share, room / width)
    if share**2 * _FUTILE < 1:
        return None
    return max(1, math.ceil(count / share**2) - count)


def check_question(effect: float, level: float) -> None:
    """Raise `InputError` for an effect or a level that no verdict can have."""
    if not effect > 0:
        raise InputError("effect", effect, "a share above 0")
    if not 0 < level < 0.5:
        raise InputError("level", level, "a probability between 0 and 0.5")


def _check(a: Sequence[float], b: Sequence[float], effect: float, level: float) -> None:
    check_question(effect, level)
    for name, times in (("a", a), ("b", b)):
        if not times or not all(0 < value < math.inf for value in times):
            raise InputError(name, f"times {list(times)[:5]}", "positive, finite ones")
