"""A machine's measured ceilings as files, whose checksum tells those that somebody changed.

The laboratory writes them (``rooftile devices --measure``), and estimates of times read them.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile._version import __version__
from rooftile.devices import cpu
from rooftile.devices.cache import cache_directory

if TYPE_CHECKING:
    from rooftile.devices.gpu import Description

_KEY = "checksum"


def sealed(record: Mapping[str, Any]) -> bytes:
    """The text of a record with its checksum."""
    return json.dumps({**record, _KEY: _checksum(record)}, indent=1).encode()


def unsealed(text: str) -> dict[str, Any]:
    """The record of such a text.  Raises `ValueError`, `KeyError` where it is none."""
    record: dict[str, Any] = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError(f"a record was expected, not {type(record).__name__}")
    if record.pop(_KEY) != _checksum(record):
        raise ValueError("the checksum is another record's")
    return record


def _checksum(record: Mapping[str, Any]) -> str:
    # As it will be read: tuples have become lists.
    read = json.loads(json.dumps(record))
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()


def cpu_file() -> Path:
    """The file of this processor's ceilings."""
    # importlib.metadata takes longer to import than the first call of a kernel in the cache.
    import llvmlite

    versions = llvmlite.__version__, __version__
    return _file("", " ".join((cpu_name(), str(cpu.cores()), *versions)))


def gpu_file(device: Description) -> Path:
    """The file of a device's ceilings."""
    parts = (device.kind, device.name, device.driver, str(device.units), __version__)
    return _file("gpu-", "\0".join(parts))


def read(path: Path) -> dict[str, Any] | None:
    """The record in a file; None where there is none, or where it was changed."""
    try:
        return unsealed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError):
        return None


def _file(kind: str, key: str) -> Path:
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    return cache_directory() / "ceilings" / f"{kind}{name}.json"


def package_version() -> str:
    """The installed version of rooftile; ``uninstalled`` where only its source is on the path."""
    import importlib.metadata

    try:
        return importlib.metadata.version("rooftile")
    except importlib.metadata.PackageNotFoundError:
        return "uninstalled"


@cache
def cpu_name() -> str:
    """The processor's name and, where the system tells them, its family and model."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    fields = {
        key.strip(): value.strip()
        for key, separator, value in (line.partition(":") for line in text.splitlines())
        if separator
    }
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields and "model" in fields:
        return f"{name} (family {fields['cpu family']} model {fields['model']})"
    return name
