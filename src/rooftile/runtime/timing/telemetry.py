"""An NVIDIA GPU's sensors: clock, power, temperature, and reasons for a lower clock.

Read through NVML, whose Python package comes with cuda-core; where it is missing, or the
driver does not let us read, there are no readings, and nothing else changes.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.devices.gpu import GpuDevice

_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""nvml.h's ``nvmlClocksEventReason*`` bits that mean: slower than it could."""
_SM_CLOCK, _GPU_SENSOR = 1, 0
"""nvml.h's NVML_CLOCK_SM and NVML_TEMPERATURE_GPU."""


@dataclass(frozen=True)
class Reading:
    """The sensors at one moment."""

    sm_mhz: int
    power_w: float
    temperature_c: int
    throttled_by: tuple[str, ...]
    """Why the clock is lower than it could be; empty when it is not."""


@dataclass(frozen=True)
class Clocks:
    """The sensors around the samples of one time."""

    sm_mhz: int
    """Median clock of the multiprocessors."""
    sm_mhz_min: int
    power_w: float
    """The highest; NVML averages over a second on most GPUs."""
    temperature_c: int
    """The highest."""
    readings: int
    throttled: int
    """Number of throttled readings; their samples count all the same."""
    throttled_by: tuple[str, ...]

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> Clocks | None:
        """A summary; None without a reading."""
        if not readings:
            return None
        reasons = {reason: None for one in readings for reason in one.throttled_by}
        return cls(
            sm_mhz=int(statistics.median(one.sm_mhz for one in readings)),
            sm_mhz_min=min(one.sm_mhz for one in readings),
            power_w=max(one.power_w for one in readings),
            temperature_c=max(one.temperature_c for one in readings),
            readings=len(readings),
            throttled=sum(bool(one.throttled_by) for one in readings),
            throttled_by=tuple(reasons),
        )

    def note(self) -> str:
        """A note on a time measured so; empty when there is nothing to say."""
        if not self.throttled:
            return ""
        return f"throttled in {self.throttled} of {self.readings} readings ({self.reasons})"

    @property
    def reasons(self) -> str:
        """Why it was throttled."""
        return ", ".join(self.throttled_by)


def sensors(device: GpuDevice) -> Callable[[], Reading | None]:
    """A call that reads a device's sensors now; it gives None where they cannot be read."""
    bus = getattr(device, "bus", None)
    if bus is not None:
        # NVML is an extra of an extra: no package, no library, no permission, no matter which.
        with contextlib.suppress(Exception):
            from cuda.bindings import nvml

            nvml.init_v2()
            handle = nvml.device_get_handle_by_pci_bus_id_v2(bus)
            _read(nvml, handle)
            return lambda: _read(nvml, handle)
    return lambda: None


def _read(nvml: Any, handle: Any) -> Reading | None:
    try:
        bits = int(nvml.device_get_current_clocks_event_reasons(handle))
        return Reading(
            sm_mhz=int(nvml.device_get_clock_info(handle, _SM_CLOCK)),
            power_w=nvml.device_get_power_usage(handle) / 1000,
            temperature_c=int(nvml.device_get_temperature_v(handle, _GPU_SENSOR)),
            throttled_by=tuple(name for bit, name in _REASONS.items() if bits & bit),
        )
    except nvml.NvmlError:
        return None
