"""How a contest times its candidates: by the host's clock, or by a device's own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from rooftile.devices.cpu import cores
from rooftile.devices.device import Device
from rooftile.devices.gpu import GpuDevice
from rooftile.runtime.timing.device import Call, Flush, Times, in_turns, work_of
from rooftile.runtime.timing.host import cold, interleaved
from rooftile.runtime.timing.telemetry import sensors

_PROBE_S = 0.05
"""A call is repeated for about so many seconds to estimate its time."""


class ContestClock(Protocol):
    """Times works that it made from calls."""

    @property
    def enough(self) -> int:
        """How many items occupy the device."""

    def work(self, launch: Call) -> Any:
        """What is timed, made from a call that has run before."""

    def repeat(self, work: Any) -> None:
        """Do once what is timed."""

    def in_turns(self, works: Mapping[str, Any]) -> dict[str, Times]:
        """Warm and cold times of each."""

    def seconds(self, launch: Call) -> float:
        """About how long a call takes, from as little as is needed."""


class HostClock:
    """Wall-clock time on the CPU: see `rooftile.runtime.timing.host`."""

    @property
    def enough(self) -> int:
        """See `ContestClock.enough`."""
        return 2 * cores()

    def work(self, launch: Call) -> Call:
        """See `ContestClock.work`."""
        return launch

    def repeat(self, work: Call) -> None:
        """See `ContestClock.repeat`."""
        work()

    def in_turns(self, works: Mapping[str, Call]) -> dict[str, Times]:
        """See `ContestClock.in_turns`."""
        warm = interleaved(works)
        return {name: Times(warm[name], cold(call), "", None) for name, call in works.items()}

    def seconds(self, launch: Call) -> float:
        """The shortest of some calls: an interruption must not have a fast strategy skipped."""
        times: list[float] = []
        while not times or (sum(times) < _PROBE_S and len(times) < 20):
            start = time.perf_counter()
            launch()
            times.append(time.perf_counter() - start)
        return min(times)


class DeviceClock:
    """The device's own clock: see `rooftile.runtime.timing.device`."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device
        self._flush = Flush(device)

    @property
    def enough(self) -> int:
        """See `ContestClock.enough`."""
        return 2 * self._device.description.units

    def work(self, launch: Call) -> Any:
        """See `ContestClock.work`."""
        return work_of(self._device, launch, self._flush)

    def repeat(self, work: Any) -> None:
        """See `ContestClock.repeat`."""
        work.once()

    def in_turns(self, works: Mapping[str, Any]) -> dict[str, Times]:
        """See `ContestClock.in_turns`."""
        return in_turns(works, read=sensors(self._device))

    def seconds(self, launch: Call) -> float:
        """The second launch's time: with the first, an OpenCL driver may still compile."""
        launch()
        self._device.synchronise()
        with self._device.timer() as elapsed:
            launch()
        return 1e-3 * elapsed.milliseconds


def clock_of(device: Any) -> ContestClock:
    """The clock for candidates on a device."""
    there: Device = device
    return HostClock() if there.kind == "cpu" else DeviceClock(device)
