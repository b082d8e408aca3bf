"""The foreign kernel, its device, and its claim."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rooftile.devices.select import parse_device
from rooftile.errors import InputError, unknown
from rooftile.lab.audit.findings import plain_words
from rooftile.lab.audit.launch import LaunchLine

TEXTS = (".cu", ".cl")
"""Files that are kernels' texts; any other is Python."""


@dataclass(frozen=True)
class Foreign:
    """A kernel that somebody else wrote.  Raises `InputError` when it cannot be found."""

    path: Path
    function: str
    device: str = "cpu"
    arrays: str = "auto"
    """The library of the arrays of a Python function: ``numpy``, ``torch``, ``cupy``; ``auto``
    follows the file's imports."""
    launch: LaunchLine | None = None
    """The launch of a text's kernel; None for Python."""

    @classmethod
    def parse(cls, given: str, device: str, arrays: str = "auto", launch: str = "") -> Foreign:
        """From ``FILE:FUNCTION`` and, for a text, a launch line."""
        file, colon, function = given.rpartition(":")
        if not colon or not file or not function:
            raise InputError("kernel", repr(given), "FILE:FUNCTION")
        path = Path(os.path.realpath(file))
        if not path.is_file():
            raise InputError("kernel", repr(file), "a file")
        kind, index = parse_device(device)
        device = kind if kind == "cpu" else f"{kind}:{index}"
        kinds = {".cu": ("cuda",), ".cl": ("opencl",)}.get(path.suffix, ("cpu", "cuda"))
        if kind not in kinds:
            raise InputError("device", repr(device), f"{' or '.join(kinds)} for {path.name!r}")
        choices = ("auto", "numpy", "torch") if kind == "cpu" else ("auto", "torch", "cupy")
        if arrays not in choices:
            raise unknown("arrays", arrays, choices, more=f" on {device}")
        text = path.suffix in TEXTS
        if text != bool(launch):
            expected = "how a .cu or .cl kernel is launched, and nothing for Python"
            raise InputError("launch", repr(launch), expected)
        line = LaunchLine.parse(launch) if text else None
        return cls(path, function, device, arrays, line)

    @property
    def name(self) -> str:
        """The file and the function, as they may be shown anywhere."""
        return plain_words(f"{self.path.name}:{self.function}")

    @property
    def text(self) -> bool:
        """True if it is a kernel's text and not a Python function."""
        return self.launch is not None

    @property
    def kind(self) -> str:
        """``cpu``, ``cuda`` or ``opencl``."""
        return self.device.partition(":")[0]

    @property
    def memory(self) -> str:
        """Where the judge lays out the arrays: ``cpu``, or ``cuda`` for a function on a GPU; those
        of a ``text`` lie in the host's memory."""
        if self.text:
            return "text"
        return "cuda" if self.kind == "cuda" else "cpu"
