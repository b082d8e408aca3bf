"""Devices by names such as ``opencl:1``, and the devices that exist of each kind."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from rooftile.devices import cuda, opencl
from rooftile.devices.names import KINDS, DeviceName, parse_device
from rooftile.errors import unknown

if TYPE_CHECKING:
    from rooftile.devices.device import Device
    from rooftile.devices.gpu import Description, GpuDevice

__all__ = [
    "KINDS",
    "DeviceName",
    "count_gpus",
    "describe_gpu",
    "lent_gpu",
    "open_device",
    "open_gpu",
    "parse_device",
]

_GPU_KINDS: dict[str, ModuleType] = {"cuda": cuda, "opencl": opencl}


def open_gpu(device: str) -> GpuDevice:
    """The device ``cuda[:N]`` or ``opencl[:N]``; the calling thread now works on it.

    Raises `DeviceMissing`, `InputError`.
    """
    kind, index = parse_device(device)
    if kind not in _GPU_KINDS:
        raise unknown("device", device, _GPU_KINDS)
    opened: GpuDevice = _GPU_KINDS[kind].open_device(index)
    return opened


def lent_gpu(device: str) -> GpuDevice:
    """The same; the calling thread keeps the GPU that it has."""
    with cuda.kept_context():
        return open_gpu(device)


def open_device(device: str) -> Device:
    """The device ``cpu``, ``cuda[:N]`` or ``opencl[:N]``.  Raises `DeviceMissing`, `InputError`."""
    if parse_device(device)[0] == "cpu":
        from rooftile.devices import cpu

        return cpu.open_device()
    return open_gpu(device)


def count_gpus(kind: str) -> int:
    """Number of devices of the kind ``cuda`` or ``opencl``. Raises `DeviceMissing`."""
    return len(_GPU_KINDS[kind].find())


def describe_gpu(kind: str, index: int) -> Description:
    """Name and limits of a device.  Raises `DeviceMissing` where it cannot be opened."""
    return lent_gpu(f"{kind}:{index}").description
