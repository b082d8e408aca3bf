"""Which device a name such as ``opencl:1`` means, and what there is of each kind."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from rooftile.devices import cuda, opencl
from rooftile.errors import InputError

if TYPE_CHECKING:
    from rooftile.devices.device import Device
    from rooftile.devices.gpu import Description, GpuDevice

KINDS = ("cpu", "cuda", "opencl")
"""Kinds of device; all but the CPU need an extra of the package."""

_Cuda = Literal[
    "cuda", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"
]
_OpenCl = Literal["opencl", "opencl:0", "opencl:1", "opencl:2", "opencl:3"]
DeviceName = Literal["cpu"] | _Cuda | _OpenCl
"""What a type checker lets a caller write; `parse_device` takes any number."""

_GPU_KINDS: dict[str, ModuleType] = {"cuda": cuda, "opencl": opencl}


def parse_device(device: Any) -> tuple[str, int]:
    """Kind and number of ``cpu``, ``cuda[:N]`` or ``opencl[:N]``.  Raises `InputError`."""
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind not in KINDS:
        raise InputError("device", repr(device), f"one of {list(KINDS)}")
    if kind == "cpu" and colon:
        raise InputError("device", repr(device), "'cpu' without a number: there is one")
    if colon and not (number.isascii() and number.isdigit()):
        raise InputError("device", repr(device), f"a number after the colon, as in '{kind}:0'")
    return kind, int(number or 0)


def open_gpu(device: str) -> GpuDevice:
    """The device ``cuda[:N]`` or ``opencl[:N]``; the calling thread now works on it.

    Raises `DeviceMissing`, `InputError`.
    """
    kind, index = parse_device(device)
    if kind not in _GPU_KINDS:
        raise InputError("device", repr(device), f"one of {list(_GPU_KINDS)}")
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
    """How many devices of the kind ``cuda`` or ``opencl`` there are.  Raises `DeviceMissing`."""
    return len(_GPU_KINDS[kind].find())


def describe_gpu(kind: str, index: int) -> Description:
    """Name and limits of a device.  Raises `DeviceMissing` where it cannot be opened."""
    return lent_gpu(f"{kind}:{index}").description
