"""A device's known limits on times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rooftile.devices.device import Device
from rooftile.devices.gpu import Description
from rooftile.lab.measure.ceilings.cpu import Ceilings, Roof, ceilings
from rooftile.lab.measure.ceilings.gpu import GpuCeilings, gpu_ceilings


@dataclass(frozen=True)
class Known:
    """The ceilings of a device, and what bounds a problem on it."""

    ceilings: Ceilings | GpuCeilings | None
    """The processor's ceilings for an OpenCL device that is no GPU."""
    roof: Roof | None
    """The roof of all cores, or of the GPU."""
    trusted: bool
    """True if nothing disturbed the measurement, so that a time below the roof is impossible."""
    description: Description | None
    """The GPU's description; None for the CPU."""


def known_roof(
    device: Device, progress: Callable[[str], None] | None = None, *, refresh: bool = False
) -> Known:
    """The ceilings of a device, from the cache or measured now; ``refresh`` always measures."""
    if device.kind == "cpu":
        found = ceilings(refresh=refresh, progress=progress)
        return Known(found, found.all_cores, found.undisturbed, None)
    gpu: Any = device
    if not has_roof(gpu):
        # A driver may leave cores to other programs: no time is impossible by these.
        found = ceilings(refresh=refresh, progress=progress)
        return Known(found, found.all_cores, False, gpu.description)
    measured = gpu_ceilings(gpu, refresh=refresh, progress=progress)
    return Known(measured, measured, True, gpu.description)


def has_roof(device: Any) -> bool:
    """True if a device has a roof of its own.

    An OpenCL device that is no GPU has the CPU's roof, which is measured by other means.
    """
    return bool(device.description.gpu)
