"""The environment of a measurement: machine, system, versions."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite
import numpy as np

from rooftile.devices import cpu
from rooftile.devices.ceilings import cpu_name, package_version
from rooftile.devices.cpu.native.vector import lanes

_GPU_PACKAGES = {
    "cuda": ("cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc"),
    "opencl": ("pyopencl", "intel-opencl-rt", "pocl-binary-distribution"),
}


@dataclass(frozen=True)
class Environment:
    """The environment that a record names, so that its numbers can be judged later."""

    time: str
    """When, ISO 8601 with the offset to UTC."""
    cpu: str
    cores: int
    """Threads that rooftile uses."""
    vector_lanes: int
    """float32 in one vector register."""
    load: float
    """Processes that wanted to run, as the mean of the last minute.  Where there were more than
    `cores`, the times were disturbed."""
    memory_gib: float
    """Physical memory."""
    system: str
    python: str
    rooftile: str
    revision: str | None
    """Git revision of the checkout that rooftile was imported from; None if it is none."""
    numpy: str
    numba: str | None
    """None where it is not installed: only kernels from outside may use it."""
    llvmlite: str
    blas: str
    """The library that NumPy multiplies matrices with."""
    threading_layer: str
    """The threads that run kernels."""


def environment() -> Environment:
    """The environment of this process, now."""
    return Environment(
        time=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        cpu=cpu_name(),
        cores=cpu.cores(),
        vector_lanes=lanes(),
        load=round(os.getloadavg()[0], 2),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        rooftile=package_version(),
        revision=_revision(),
        numpy=np.__version__,
        numba=versions(["numba"]).get("numba"),
        llvmlite=llvmlite.__version__,
        blas=_blas(),
        threading_layer="rooftile",
    )


def gpu_libraries(kind: str) -> dict[str, str]:
    """Versions of the installed packages of the devices of the kind ``cuda`` or ``opencl``."""
    return versions(_GPU_PACKAGES[kind])


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


@cache
def _revision() -> str | None:
    # The package's own folder decides, not the folder that the user stands in; and a
    # package installed into somebody else's checkout is not that checkout's revision.
    here = Path(__file__).parent
    if "site-packages" in here.parts:
        return None
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _blas() -> str:
    built = np.show_config(mode="dicts")
    found = (built or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()
