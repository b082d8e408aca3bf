"""The grammar of devices' names; this imports nothing, so that the command line starts at once."""

from __future__ import annotations

from typing import Any, Literal

from rooftile.errors import InputError, unknown

KINDS = ("cpu", "cuda", "opencl")
"""Kinds of device; all but the CPU need an extra of the package."""

_Cuda = Literal[
    "cuda", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"
]
_OpenCl = Literal["opencl", "opencl:0", "opencl:1", "opencl:2", "opencl:3"]
DeviceName = Literal["cpu"] | _Cuda | _OpenCl
"""Names that a type checker accepts; `parse_device` takes any number."""


def parse_device(device: Any) -> tuple[str, int]:
    """Kind and number of ``cpu``, ``cuda[:N]`` or ``opencl[:N]``.  Raises `InputError`."""
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind not in KINDS:
        raise unknown("device", device, KINDS)
    if kind == "cpu" and colon:
        raise InputError("device", repr(device), "'cpu' without a number: there is one")
    if colon and not (number.isascii() and number.isdigit()):
        raise InputError("device", repr(device), f"a number after the colon, as in '{kind}:0'")
    return kind, int(number or 0)


def name_of(device: Any) -> Any:
    """The name of a `torch.device`; anything else as it is."""
    kind = type(device)
    if kind.__name__ != "device" or kind.__module__.partition(".")[0] != "torch":
        return device
    return "cpu" if device.type == "cpu" else str(device)
