"""How long does it take on a GPU?  By the device's own clock, without the launches' latency.

A sample is a replay of several launches captured into one graph, between two marks on the
kernel's own stream; before it, untimed, goes another replay, so that the device is still
busy when the host hands over the timed one.  Two kinds are taken:

- warm: the same arrays again and again, so what fits the last-level cache lies there;
- cold: one launch, after a buffer of twice that cache has been overwritten outside the marks.

Each sample is also timed by the host, from before the first launch until the whole device is
idle.  Work that the marks do not see, on another stream or begun later, is in the host's time
alone: such a contradiction is a failure, not a number.

Contestants take turns, which cancels slow drift of the clock.  Every sample counts; the
sensors are read around each, and throttled ones are reported.  (The rules of NVIDIA's
nvbench, whose blocking kernel the untimed replay replaces: it cannot deadlock.)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.lab.measure import Timing, is_steady, timing_of
from rooftile.lab.telemetry import Clocks, Reading

Call = Callable[[], object]

_WINDOW_S = 1e-3
"""A warm sample lasts at least this long, where 200 launches do: a mark costs microseconds."""
_MOST_LAUNCHES = 200
_LONG_S = 5e-3
"""Before a replay this long none goes untimed: a launch's latency is nothing to it."""
_WARM_UP_S = 0.2
"""Work of this long before the first sample brings the clock up."""
_LEAST, _LEAST_SAMPLES, _MOST_SAMPLES = 3, 20, 200
"""Samples: at least, at least where the time suffices, at most."""
_CACHE_BYTES = 64 * 2**20
"""Where a device does not tell how large its cache is."""
_CLOCKS_DIFFER = 0.02
"""Two clocks that agree differ by less than this share."""


class Clock(Protocol):
    """Whose marks a sample lies between: a device of ours, or a peer's library."""

    def mark(self) -> Any:
        """A point in the work handed over so far."""

    def between(self, before: Any, after: Any) -> float:
        """Milliseconds between two marks that were passed."""

    def synchronise(self) -> None:
        """Wait until the whole device is idle."""


@dataclass(frozen=True)
class Work:
    """What one contestant launches."""

    clock: Clock
    once: Call
    many: Call
    """``count`` times the same."""
    count: int
    flush: Call
    """Takes what lies in the last-level cache out of it."""
    slack_s: float
    """Host time beyond the device's that is no contradiction; for each sample, and 10 %."""


@dataclass(frozen=True)
class GpuTiming:
    """Warm and cold times of one contestant."""

    warm: Timing
    cold: Timing
    contradiction: str
    """How the host's clock contradicts the device's; empty when it does not."""
    clocks: Clocks | None
    """None where the sensors cannot be read."""


class Flush:
    """Overwrites a buffer of twice the device's last-level cache."""

    def __init__(self, device: GpuDevice) -> None:
        cache = device.description.cache_bytes or _CACHE_BYTES
        self._vectors = 2 * cache // 16
        self._buffer = device.allocate(16 * self._vectors)
        self._program = device.compile(text("memory"), {"THREADS": 256, "LOADS": 4})
        self._launch = Launch("fill_all", (4 * device.description.units, 1, 1), (256, 1, 1))

    def __call__(self) -> None:
        """Start it on the device's present stream."""
        import numpy as np

        self._program.launch(self._launch, self._buffer, np.int32(self._vectors))


def text(name: str) -> str:
    """The kernels of ``gpu/<name>.cu``."""
    return (Path(__file__).parent / "gpu" / f"{name}.cu").read_text(encoding="utf-8")


def work_of(device: GpuDevice, launch: Call, flush: Flush) -> Work:
    """Capture what ``launch`` starts on the device; it must have run before."""
    with device.timer() as elapsed:
        launch()
    count = launches(1e-3 * elapsed.milliseconds)
    once = device.captured(launch)
    many = device.captured(lambda: [launch() for _ in range(count)]) if count > 1 else once
    # Not a GPU: the driver's threads and the host's share the same cores.
    slack = 2e-4 if device.description.gpu else 0.05
    return Work(device, once, many, count, flush, slack)


def launches(seconds: float) -> int:
    """How many launches of so many seconds a sample holds."""
    return max(1, min(_MOST_LAUNCHES, math.ceil(_WINDOW_S / max(seconds, 1e-9))))


def in_turns(
    works: Mapping[str, Work],
    *,
    read: Callable[[], Reading | None] = lambda: None,
    seconds: float = 1.0,
) -> dict[str, GpuTiming]:
    """Time contestants in turns; each stops when it is steady, or after ``seconds`` of its own.

    Every one gets at least three samples of both kinds, so a slow one takes longer.  ``read``
    reads the sensors.
    """
    logs = {name: _Log(work, read) for name, work in works.items()}
    _warm_up(works)
    open_ = dict(logs)
    while open_:
        for name, log in list(open_.items()):
            log.sample()
            if log.done(seconds):
                del open_[name]
    return {name: log.timing() for name, log in logs.items()}


def _warm_up(works: Mapping[str, Work]) -> None:
    """Each at least twice, and all together long enough for the clock."""
    end = time.perf_counter() + _WARM_UP_S
    for turn in range(1000):
        if turn >= 2 and time.perf_counter() > end:
            break
        for work in works.values():
            work.once()
            work.clock.synchronise()


@dataclass
class _Log:
    """The samples of one contestant, in seconds."""

    work: Work
    read: Callable[[], Reading | None]
    warm: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    spent: float = 0.0
    unseen: float = math.inf
    """The least host time beyond the device's, over what is no contradiction."""
    impossible: float = math.inf
    """The same for device time beyond the host's."""

    def sample(self) -> None:
        """One of each kind; the warm one, which holds more work, is checked by the host's clock."""
        start = time.perf_counter()
        many, count = self.work.many, self.work.count
        lead = not self.warm or self.warm[-1] * count < _LONG_S
        timed, device, host = self._timed(many, many if lead else None)
        self.warm.append(timed / count)
        self.unseen = min(self.unseen, host - 1.1 * device - self.work.slack_s)
        self.impossible = min(self.impossible, device - (1 + _CLOCKS_DIFFER) * host)
        reading = self.read()
        if reading is not None:
            self.readings.append(reading)
        self.cold.append(self._timed(self.work.once, self.work.flush)[0])
        self.spent += time.perf_counter() - start

    def _timed(self, call: Call, before: Call | None) -> tuple[float, float, float]:
        """Seconds of a call, and of it with what goes before by the device's and host's clock."""
        clock = self.work.clock
        clock.synchronise()
        start = time.perf_counter()
        first = clock.mark()
        if before is not None:
            before()
        middle = clock.mark()
        call()
        last = clock.mark()
        clock.synchronise()
        host = time.perf_counter() - start
        return 1e-3 * clock.between(middle, last), 1e-3 * clock.between(first, last), host

    def done(self, seconds: float) -> bool:
        """Whether there are samples enough."""
        count = len(self.warm)
        if count < _LEAST:
            return False
        steady = count >= _LEAST_SAMPLES and is_steady(self.warm) and is_steady(self.cold)
        return steady or self.spent > seconds or count >= _MOST_SAMPLES

    def timing(self) -> GpuTiming:
        """What the samples say."""
        clocks = Clocks.of(self.readings)
        return GpuTiming(timing_of(self.warm), timing_of(self.cold), self._contradiction(), clocks)

    def _contradiction(self) -> str:
        if self.unseen > 0:
            return (
                f"the device was busy {1e3 * self.unseen:.3g} ms longer than its stream's marks "
                "say: work elsewhere, or begun later"
            )
        if self.impossible > 0:
            return f"its marks are {1e3 * self.impossible:.3g} ms further apart than the host saw"
        return ""
