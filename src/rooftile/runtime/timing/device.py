"""Times on a GPU by the device's own clock, without the launches' latency.

A sample is a replay of several launches captured into one graph, between two marks on the
kernel's own stream.  An untimed replay goes before it, so that the device is still busy when the
host hands over the timed one.  There are two kinds of samples:

- warm: the same arrays again and again, so that data that fit the last-level cache are in it;
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.runtime.timing.host import Interrupted, Left, Timing, is_steady, timing_of
from rooftile.runtime.timing.others import Watch
from rooftile.runtime.timing.telemetry import Clocks, Reading

Call = Callable[[], object]

_WINDOW_S = 1e-3
"""A warm sample lasts at least this long, or 200 launches: a mark costs microseconds."""
_MOST_LAUNCHES = 200
_LONG_S = 5e-3
"""A replay this long needs no untimed one before it: a launch's latency is nothing to it."""
WARM_UP_S = 0.2
"""Work of this duration before the first sample brings the clock up."""
LEAST, LEAST_SAMPLES, MOST_SAMPLES = 3, 20, 200
"""Numbers of samples: the least, the least where the time suffices, the most."""
CACHE_BYTES = 64 * 2**20
"""The cache that is assumed where a device does not tell how large its own is."""
SLACK_S = 2e-4
"""The host learns of a GPU's last result at most this much after it was there."""
_UNSEEN, _IMPOSSIBLE = 0.1, 0.02
"""Two clocks agree where the host's time is longer than the device's by less than the first share,
or shorter by less than the second."""


class Clock(Protocol):
    """The clock that sets the marks around a sample: a device of ours, or a peer's library."""

    def mark(self) -> Any:
        """A point in the work handed over so far."""

    def between(self, before: Any, after: Any) -> float:
        """Milliseconds between two marks that were passed."""

    def synchronise(self) -> None:
        """Wait until the whole device is idle."""


@dataclass(frozen=True)
class TimedLaunches:
    """The launches of one contestant."""

    clock: Clock
    once: Call
    many: Call
    """The same, ``count`` times."""
    count: int
    flush: Call
    """Fills the last-level cache with something else."""
    slack_s: float
    """See `contradiction`."""
    on_host: bool = False
    """True if the device is the host's own processor, so that other programs disturb it."""


@dataclass(frozen=True)
class Times:
    """Warm and cold times of one contestant."""

    warm: Timing
    cold: Timing | None
    """None after an interrupt."""
    contradiction: str
    """The contradiction of the host's clock and the device's; empty when there is none."""
    clocks: Clocks | None
    """None where the sensors cannot be read."""


class Flush:
    """Overwrites a buffer of twice the device's last-level cache."""

    def __init__(self, device: GpuDevice) -> None:
        cache = device.description.cache_bytes or CACHE_BYTES
        self._vectors = 2 * cache // 16
        self._buffer = device.allocate(16 * self._vectors)
        self._program = device.compile(
            Path(__file__).with_name("flush.cu").read_text(encoding="utf-8"), {}
        )
        self._launch = Launch("fill_all", (4 * device.description.units, 1, 1), (256, 1, 1))

    def __call__(self) -> None:
        """Start it on the device's present stream."""
        import numpy as np

        self._program.launch(self._launch, self._buffer, np.int32(self._vectors))


def work_of(device: GpuDevice, launch: Call, flush: Flush) -> TimedLaunches:
    """Capture what ``launch`` starts on the device; it must have run before."""
    with device.timer() as elapsed:
        launch()
    count = launches(1e-3 * elapsed.milliseconds)
    once = device.captured(launch)
    many = device.captured(lambda: [launch() for _ in range(count)]) if count > 1 else once
    # On a device that is no GPU the driver's threads and the host's share the same cores.
    slack = SLACK_S if device.description.gpu else 0.05
    return TimedLaunches(device, once, many, count, flush, slack, not device.description.gpu)


def launches(seconds: float) -> int:
    """Number of launches of ``seconds`` each that a sample holds."""
    return max(1, min(_MOST_LAUNCHES, math.ceil(_WINDOW_S / max(seconds, 1e-9))))


def in_turns(
    works: Mapping[str, TimedLaunches],
    *,
    read: Callable[[], Reading | None] = lambda: None,
    seconds: float = 1.0,
    left: Left = lambda seconds: None,
) -> dict[str, Times]:
    """Time contestants in turns; each stops when it is steady, or after ``seconds`` of its own.

    Every one gets at least three samples of both kinds, so a slow one takes longer.  ``read``
    reads the sensors.  ``left`` and interrupts are as in `host.interleaved`.
    """
    logs = {name: _Log(work, read) for name, work in works.items()}
    try:
        _warm_up(works)
        open_ = dict(logs)
        while open_:
            left(sum(max(0.0, seconds - log.spent) for log in open_.values()))
            for name, log in list(open_.items()):
                log.sample()
                if log.done(seconds):
                    del open_[name]
    except KeyboardInterrupt:
        timed = {name: log.timing() for name, log in logs.items() if log.cold}
        raise Interrupted(timed) from None
    return {name: log.timing() for name, log in logs.items()}


def enough(*kinds: list[float], late: bool) -> bool:
    """True if samples of these kinds suffice: they are steady, or it is late."""
    count = len(kinds[0])
    if count < LEAST:
        return False
    steady = count >= LEAST_SAMPLES and all(map(is_steady, kinds))
    return steady or late or count >= MOST_SAMPLES


def contradiction(samples: Sequence[tuple[float, float]], slack_s: float) -> str:
    """Why the device's and the host's seconds of the same work cannot both be true; empty where
    they can.

    The host's go from before the work is handed over until the whole device is idle, so they are
    a little longer, by at most ``slack_s`` and a share.  A single sample may be disturbed: clocks
    contradict each other where every sample says so.
    """
    unseen = min(host - (1 + _UNSEEN) * device for device, host in samples) - slack_s
    if unseen > 0:
        return (
            f"the device was busy {1e3 * unseen:.3g} ms longer than its stream's marks say: "
            "work elsewhere, or begun later"
        )
    impossible = min(device - (1 + _IMPOSSIBLE) * host for device, host in samples)
    if impossible > 0:
        return f"its marks are {1e3 * impossible:.3g} ms further apart than the host saw"
    return ""


def _warm_up(works: Mapping[str, TimedLaunches]) -> None:
    """Run each at least twice, and all together long enough to bring the clock up."""
    end = time.perf_counter() + WARM_UP_S
    for turn in range(1000):
        if turn >= 2 and time.perf_counter() > end:
            break
        for work in works.values():
            work.once()
            work.clock.synchronise()


@dataclass
class _Log:
    """The samples of one contestant, in seconds."""

    work: TimedLaunches
    read: Callable[[], Reading | None]
    warm: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    spent: float = 0.0
    watch: Watch = field(default_factory=Watch)
    pairs: list[tuple[float, float]] = field(default_factory=list)
    """Each warm sample and the untimed replay before it: by the device's clock, by the host's."""

    def sample(self) -> None:
        """Take one of each kind; the host's clock checks the warm one, which holds more work."""
        start = time.perf_counter()
        many, count = self.work.many, self.work.count
        lead = not self.warm or self.warm[-1] * count < _LONG_S
        with self.watch as calls:
            timed, device, host = self._timed(many, many if lead else None)
            calls.append(host)
        self.warm.append(timed / count)
        self.pairs.append((device, host))
        reading = self.read()
        if reading is not None:
            self.readings.append(reading)
        self.cold.append(self._timed(self.work.once, self.work.flush)[0])
        self.spent += time.perf_counter() - start

    def _timed(self, call: Call, before: Call | None) -> tuple[float, float, float]:
        """Seconds of a call; then, with what goes before, by the device's clock and the host's."""
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
        """True if there are enough samples."""
        return enough(self.warm, self.cold, late=self.spent > seconds)

    def timing(self) -> Times:
        """The samples' times."""
        waited = self.watch.share() if self.work.on_host else None
        return Times(
            replace(timing_of(self.warm), waited=waited),
            timing_of(self.cold),
            contradiction(self.pairs, self.work.slack_s),
            Clocks.of(self.readings),
        )
