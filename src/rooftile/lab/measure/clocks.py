"""A contest's clocks: the host's, or a device's own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from rooftile.devices.cpu import cores
from rooftile.devices.device import Device
from rooftile.devices.gpu import GpuDevice
from rooftile.runtime.timing.device import Call, Flush, Times, in_turns, work_of
from rooftile.runtime.timing.host import Interrupted, Left, Timing, cold, interleaved
from rooftile.runtime.timing.telemetry import sensors

PROBE_S = 0.05
"""Approximate seconds of repeated calls that estimate a call's time."""
_WARM_S, _COLD_S, _DEVICE_S = 2.0, 0.5, 1.0
"""Seconds in which a candidate is timed: by the host's clock warm and cold, by a device's both."""
_WARM_IN_ALL_S, _COLD_IN_ALL_S, _LEAST_COLD_S = 8.0, 2.0, 0.1
"""Seconds that all candidates of the host share where their calls are short, and the least cold."""


class ContestClock(Protocol):
    """Times works that it made from calls."""

    @property
    def enough(self) -> int:
        """Number of items that occupy the device."""

    def work(self, launch: Call) -> Any:
        """The timed work, made from a call that has run before."""

    def repeat(self, work: Any) -> None:
        """Do once what is timed."""

    def budget_s(self, candidates: int) -> float:
        """Seconds in which candidates are timed, at most, where their calls are short."""

    def in_turns(
        self, works: Mapping[str, Any], left: Left = lambda seconds: None
    ) -> dict[str, Times]:
        """Warm and cold times of each; see `rooftile.runtime.timing.host.interleaved`."""

    def seconds(self, launch: Call) -> float:
        """About how long a call takes, from as little as is needed."""


class HostClock:
    """Wall-clock time on the CPU: see `rooftile.runtime.timing.host`."""

    def __init__(self, brief_s: float | None = None) -> None:
        """``brief_s``: seconds for each candidate, which is timed warm alone."""
        self._warm_s, self._cold_s = (_WARM_S, _COLD_S) if brief_s is None else (brief_s, 0.0)

    @property
    def enough(self) -> int:
        return 2 * cores()

    def work(self, launch: Call) -> Call:
        return launch

    def repeat(self, work: Call) -> None:
        work()

    def budget_s(self, candidates: int) -> float:
        return min(self._warm_s * candidates, _WARM_IN_ALL_S) + self._cold(candidates) * candidates

    def _cold(self, candidates: int) -> float:
        """Seconds of a candidate's cold calls."""
        return min(self._cold_s, max(_LEAST_COLD_S, _COLD_IN_ALL_S / max(1, candidates)))

    def in_turns(
        self, works: Mapping[str, Call], left: Left = lambda seconds: None
    ) -> dict[str, Times]:
        each = self._cold(len(works))
        then = each * len(works)
        found: dict[str, Times] = {}
        try:
            warm = interleaved(
                works,
                seconds=self._warm_s,
                in_all=_WARM_IN_ALL_S,
                left=lambda s: left(s + then),
            )
            found = _without_cold(warm)
            for done, (name, call) in enumerate(works.items() if each else ()):
                left(then - each * done)
                found[name] = replace(found[name], cold=cold(call, seconds=each))
        except Interrupted as stopped:
            raise Interrupted(_without_cold(stopped.times)) from None
        except KeyboardInterrupt:
            raise Interrupted(found) from None
        return found

    def seconds(self, launch: Call) -> float:
        """The shortest of some calls: an interruption must not have a fast strategy skipped."""
        times: list[float] = []
        while not times or (sum(times) < PROBE_S and len(times) < 20):
            start = time.perf_counter()
            launch()
            times.append(time.perf_counter() - start)
        return min(times)


class DeviceClock:
    """The device's own clock: see `rooftile.runtime.timing.device`."""

    def __init__(self, device: GpuDevice, seconds: float = _DEVICE_S) -> None:
        self._device, self._seconds = device, seconds
        self._flush = Flush(device)

    @property
    def enough(self) -> int:
        return 2 * self._device.description.units

    def work(self, launch: Call) -> Any:
        return work_of(self._device, launch, self._flush)

    def repeat(self, work: Any) -> None:
        work.once()

    def budget_s(self, candidates: int) -> float:
        return self._seconds * candidates

    def in_turns(
        self, works: Mapping[str, Any], left: Left = lambda seconds: None
    ) -> dict[str, Times]:
        read = sensors(self._device)
        return in_turns(works, read=read, seconds=self._seconds, left=left)

    def seconds(self, launch: Call) -> float:
        """The second launch's time: with the first, an OpenCL driver may still compile."""
        launch()
        self._device.synchronise()
        with self._device.timer() as elapsed:
            launch()
        return 1e-3 * elapsed.milliseconds


def _without_cold(warm: Mapping[str, Timing]) -> dict[str, Times]:
    return {name: Times(timing, None, "", None) for name, timing in warm.items()}


def clock_of(device: Any, brief_s: float | None = None) -> ContestClock:
    """The clock for candidates on a device; ``brief_s``: seconds for each, fewer than usual."""
    there: Device = device
    if there.kind == "cpu":
        return HostClock(brief_s)
    return DeviceClock(device) if brief_s is None else DeviceClock(device, brief_s)
