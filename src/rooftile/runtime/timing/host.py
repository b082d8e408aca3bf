"""Wall-clock medians on the CPU, fair to every candidate.

Libraries leave worker threads spinning for some milliseconds after a call, which slow the next
candidate, up to twofold. So each round of a candidate is: a pause until they are parked, untimed
calls until caches and our own threads are warm again, then timed calls. Candidates take turns,
which cancels slow drift.

Every sample counts; the spread is reported, and `Timing.steady` says whether
the median settled before the caps were reached (the rule of NVIDIA's nvbench).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.runtime.timing.others import DISTURBED, Watch

Call = Callable[[], object]
Left = Callable[[float], None]
"""Told how many seconds are left at most."""

PAUSE_S = 0.015
"""Threads that spin are told by the processors' time in so long a sleep: OpenMP's and torch's spin
for up to 10 ms, ONNX Runtime's for 50.  The system counts it in steps of a few milliseconds."""
_SPINS, MOST_PAUSES = 0.2, 10
"""The share of a sleep from which on somebody spins, and how many sleeps are waited for it."""
WARM_S = 0.002
"""Untimed calls go on at least this long after the pause."""
BURST_S = 0.005
"""Timed calls of a round go on this long, where one call is shorter."""
LONG_S = 0.5
"""A call this long needs no untimed one before it: it warms up within itself."""
_NOISE = 0.005
"""A median is steady where its standard error is below this share of it."""
_UNKNOWN_CACHE, MOST_FLUSHED = 64 * 2**20, 2**29
"""Bytes: of a cache whose size is not known, and the most that is written to empty a cache."""
LEAST, _ENOUGH, MOST = 3, 8, 60
"""Numbers of rounds: the least, the least where the time suffices, the most.  Calls of one round
resemble each other, so an interval takes eight rounds (`rooftile.lab.measure.history.compare`)."""


@dataclass(frozen=True)
class Timing:
    """Wall-clock times of ``n`` calls, in milliseconds."""

    median: float
    p20: float
    p80: float
    min: float
    n: int
    steady: bool
    """True if the noise fell below the target before the caps on rounds and time."""
    samples: tuple[float, ...] = field(default=(), repr=False)
    """Samples for a later comparison, in the order of time: the median of each round, or each
    sample where a round is one."""
    waited: float | None = None
    """The share of the median, at most, in which it waited for processors that other programs had;
    None where it is not known (`rooftile.runtime.timing.others`)."""

    @property
    def disturbed(self) -> bool:
        """True if the machine was too busy to trust the time."""
        return self.waited is not None and self.waited > DISTURBED


class Interrupted(KeyboardInterrupt):
    """Somebody interrupted the timing."""

    def __init__(self, times: Mapping[str, Any]) -> None:
        """``times`` are those that were had by then, by name."""
        super().__init__()
        self.times = times


def measure(call: Call, *, seconds: float = 2.0) -> Timing:
    """Time one callable; stops when it is steady, or after about ``seconds``."""
    return interleaved({"": call}, seconds=seconds)[""]


def interleaved(
    calls: Mapping[str, Call],
    *,
    seconds: float = 2.0,
    in_all: float = math.inf,
    left: Left = lambda seconds: None,
) -> dict[str, Timing]:
    """Time callables in turns; each stops when it is steady, or after about ``seconds`` of its own.

    ``in_all`` seconds are shared by those whose calls are short: a callable with eight rounds stops
    after its share. Every callable gets at least three rounds, so a very slow one takes longer than
    the cap.
    ``left`` is told before each turn how many seconds are left at most, as far as is known.  An
    interrupt raises `Interrupted` with the times of those that had a round.
    """
    rounds: dict[str, list[list[float]]] = {name: [] for name in calls}
    watches = {name: Watch() for name in calls}
    try:
        share = min(seconds, in_all / max(1, len(calls)))
        _take_turns(calls, rounds, watches, seconds, share, left)
    except KeyboardInterrupt:
        raise Interrupted(_timings(rounds, watches)) from None
    return _timings(rounds, watches)


def _take_turns(
    calls: Mapping[str, Call],
    rounds: dict[str, list[list[float]]],
    watches: dict[str, Watch],
    seconds: float,
    share: float,
    left: Left,
) -> None:
    """Fill the rounds."""
    spent = {name: _timed(call) for name, call in calls.items()}  # compiles, allocates, packs
    open_ = dict(calls)
    for done in range(1, MOST + 1):
        least = max(0, LEAST + 1 - done) / done  # In times of what the rounds before took.
        cap = share if done > _ENOUGH else seconds
        left(sum(max(0.0, cap - spent[name], least * spent[name]) for name in open_))
        for name, call in list(open_.items()):
            start = time.perf_counter()
            rounds[name].append(_round(call, watches[name]))
            spent[name] += time.perf_counter() - start
            late = done >= LEAST and spent[name] > seconds
            enough = done >= _ENOUGH and (spent[name] > share or is_steady(_calls(rounds[name])))
            if late or enough:
                del open_[name]
        if not open_:
            break


def cold(call: Call, *, seconds: float = 0.5) -> Timing:
    """Time a call, each time with nothing of its arrays in the last-level cache.

    In between, memory of twice the cache's size is written; what that costs is not counted.
    Threads that a library parks meanwhile must wake up within the time.
    """
    reach = cpu.cache_bytes() or _UNKNOWN_CACHE
    others = np.zeros(min(2 * reach, MOST_FLUSHED) // 8)
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < LEAST or time.perf_counter() - start < seconds:
        others += 1.0
        times.append(_timed(call))
        if len(times) >= _ENOUGH and is_steady(times):
            break
    return timing_of(times)


def round_ms(call: Call) -> float:
    """One round of a call: its median in milliseconds."""
    return 1e3 * float(np.median(_round(call, contextlib.nullcontext([]))))


def _calls(rounds: list[list[float]]) -> list[float]:
    return [seconds for times in rounds for seconds in times]


def _timings(rounds: dict[str, list[list[float]]], watches: dict[str, Watch]) -> dict[str, Timing]:
    return {name: _timing_of_rounds(made, watches[name]) for name, made in rounds.items() if made}


def _timing_of_rounds(rounds: list[list[float]], watch: Watch) -> Timing:
    medians = tuple(1e3 * float(np.median(times)) for times in rounds)
    return replace(timing_of(_calls(rounds)), samples=medians, waited=watch.share())


def _timed(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _round(call: Call, watch: AbstractContextManager[list[float]]) -> list[float]:
    """Pause, warm up, then time the calls of one burst, in seconds."""
    pause()
    with watch as made:
        times = _repeat(call, WARM_S)
        made += times
        # A long call that was just made is a sample already.
        if times[0] <= LONG_S:
            times = _repeat(call, BURST_S)
            made += times
    return times


def pause() -> None:
    """Sleep until the threads of this process rest, ours and other libraries'."""
    for _ in range(MOST_PAUSES):
        before = time.process_time()
        time.sleep(PAUSE_S)
        if time.process_time() - before <= _SPINS * PAUSE_S:
            break


def _repeat(call: Call, seconds: float) -> list[float]:
    times = [_timed(call)]
    while sum(times) < seconds and len(times) < 100:
        times.append(_timed(call))
    return times


def is_steady(times: list[float]) -> bool:
    """True if the standard error of the median, from the 20-80 % spread, is small enough."""
    if len(times) < 5:
        return False
    low, middle, high = np.percentile(times, (20, 50, 80))
    # A normal distribution's 20-80 % spread is 1.683 sigma; the median's error 1.253 sigma/sqrt(n).
    return bool((high - low) / 1.683 * 1.253 / math.sqrt(len(times)) < _NOISE * middle)


def timing_of(times: list[float]) -> Timing:
    """The quantiles of times in seconds."""
    low, middle, high = (float(1e3 * q) for q in np.percentile(times, (20, 50, 80)))
    samples = tuple(1e3 * seconds for seconds in times)
    return Timing(middle, low, high, 1e3 * min(times), len(times), is_steady(times), samples)
