"""Times of calls that start work on an NVIDIA GPU: the host's, the GPU's, and both together.

Three clocks, in microseconds, read in turns for all who are compared:

- ``host``: until the call returns.  Few calls lie between two synchronisations, so that none waits
  for room in the queue.
- ``event``: the GPU's time of a call in a row of calls.  A kernel that sleeps keeps the GPU from
  them until the host has handed over all, so that no gap between two of them is the host's.
- ``whole``: from before the call until its result is there.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Call = Callable[[], object]
Record = dict[str, Any]

_BURST = 8
"""Calls between two synchronisations."""
_LONGEST_ROW, _SHORTEST_ROW = 40, 4
_ROW_US = 2000.0
"""About how long a row of calls takes, on the GPU and on the host."""
_CYCLES_PER_US = 2000
"""A little more than the clock of any GPU has, so that a sleep is rather too long."""
_MOST_SLEEP_US = 40_000.0


@dataclass(frozen=True)
class Contender:
    """Somebody whose call is timed."""

    call: Call
    waits: bool = False
    """Whether the call itself waits for its result, so that ``whole`` alone means something."""


@dataclass
class Samples:
    """What one contender's calls took, in microseconds."""

    host: list[float] = field(default_factory=list)
    event: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    exposed: int = 0
    """Rows of calls in which the sleep ended before the host was done; they give no time."""

    def record(self) -> Record:
        """Medians with their spread."""
        clocks = {"host_us": self.host, "event_us": self.event, "whole_us": self.whole}
        made: Record = {name: spread(times) for name, times in clocks.items() if times}
        return made | ({"exposed": self.exposed} if self.exposed else {})


def spread(times: list[float]) -> Record:
    """The median of at least one time, and where the middle 60 % lie."""
    ordered = sorted(times)
    last = len(ordered) - 1
    return {
        "median": statistics.median(ordered),
        "p20": ordered[round(0.2 * last)],
        "p80": ordered[round(0.8 * last)],
        "n": len(ordered),
    }


def row_of(host_us: float, whole_us: float) -> tuple[int, int]:
    """How many calls a row has, and how many cycles the GPU sleeps before it."""
    slower = max(host_us, whole_us, 1.0)
    count = max(_SHORTEST_ROW, min(_LONGEST_ROW, int(_ROW_US / slower)))
    sleep_us = min(_MOST_SLEEP_US, 100.0 + 2.5 * host_us * count)
    return count, int(_CYCLES_PER_US * sleep_us)


def turns(names: list[str], rounds: int) -> Iterator[list[str]]:
    """Who comes when: in each round somebody else is first."""
    order = deque(names)
    for _ in range(rounds):
        yield list(order)
        order.rotate(-1)


def measure(
    contenders: Mapping[str, Contender],
    wait: Call,
    *,
    rounds: int,
    seconds: float,
    burst: int = _BURST,
) -> tuple[dict[str, Samples], dict[str, str]]:
    """The samples of all contenders, and of those that failed why.

    There are so many rounds, or fewer, but at least two, when the time is over; ``burst`` calls
    lie between two synchronisations.
    """
    found = {name: Samples() for name in contenders}
    failed: dict[str, str] = {}
    end = time.perf_counter() + seconds
    for done, order in enumerate(turns(list(contenders), rounds)):
        if done >= 2 and time.perf_counter() > end:
            break
        for name in order:
            if name in failed:
                continue
            try:
                _round(contenders[name], wait, found[name], burst)
            except Exception as error:
                # The others are worth having all the same.
                failed[name] = f"{type(error).__name__}: {error}"
    return {name: one for name, one in found.items() if name not in failed}, failed


def _round(contender: Contender, wait: Call, samples: Samples, burst: int) -> None:
    """One burst on each clock, after two calls that bring back what others drove from caches."""
    call = contender.call
    for _ in range(2):
        call()
    wait()
    whole = _whole(call, wait, burst // 2)
    samples.whole += whole
    if contender.waits:
        return
    host = _host(call, burst)
    wait()
    samples.host += host
    count, cycles = row_of(statistics.median(host), statistics.median(whole))
    event = _event(call, count, cycles)
    if event is None:
        samples.exposed += 1
    else:
        samples.event.append(event)


def _whole(call: Call, wait: Call, count: int) -> list[float]:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        wait()
        times.append(1e6 * (time.perf_counter() - start))
    return times


def _host(call: Call, count: int) -> list[float]:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - start))
    return times


def _event(call: Call, count: int, cycles: int) -> float | None:
    """The GPU's time of one of ``count`` calls; None where the GPU woke up too early."""
    import torch

    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(cycles)
    before.record()
    for _ in range(count):
        call()
    after.record()
    hidden = not before.query()
    after.synchronize()
    return 1e3 * float(before.elapsed_time(after)) / count if hidden else None
