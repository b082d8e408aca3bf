"""The OpenCL drivers that the loader is told of, and checks that one works here.

PoCL's wheel announces itself to PyOpenCL's loader.  Intel's CPU runtime from PyPI
(``intel-opencl-rt``) does not: the path in its ``.icd`` file is that of another
package manager.  PoCL is used where the user has installed it, but for two kinds:
a release whose compiler knows no processor such as this one refuses to compile, and
a release that compiles a known kernel wrong (3.0 does, see `probe`) corrupts the process.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from rooftile._files import write_atomically
from rooftile.devices.cache import cache_directory
from rooftile.devices.opencl.probe import compiles_right
from rooftile.errors import DeviceMissing

SYSTEM = Path("/etc/OpenCL/vendors")
_POCL = "Portable Computing Language"

INSTALL = (
    'pip install "pyopencl>=2025.1" "intel-opencl-rt>=2025.0" "intel-cmplr-lib-rt>=2025.0", '
    "Intel's OpenCL for every x86-64 processor"
)


def announce_wheels() -> None:
    """Tell the loader of Intel's runtime from PyPI, besides the system's drivers.

    This does nothing where the user sets ``OCL_ICD_VENDORS``, or once the loader has read it.
    """
    library = _intel_library()
    if library is None or "OCL_ICD_VENDORS" in os.environ:
        return
    folder = cache_directory() / "opencl" / "vendors"
    texts = {file.name: file.read_text() for file in SYSTEM.glob("*.icd")}
    for name, text in {**texts, "intel-wheel.icd": f"{library}\n"}.items():
        try:
            if not _holds(folder / name, text.encode()):
                write_atomically(folder / name, text.encode())
        except OSError:
            return  # With a read-only home there are the system's drivers.
    os.environ["OCL_ICD_VENDORS"] = str(folder)


def _holds(path: Path, content: bytes) -> bool:
    with contextlib.suppress(OSError):
        return path.read_bytes() == content
    return False


def unfit(cl: Any, device: Any) -> DeviceMissing | None:
    """Why a device is not used; None where it is.  ``cl`` is PyOpenCL."""
    name = device.name.strip()
    release = f"{device.platform.name.strip()}'s release {device.platform.version.strip()}"
    if knows_no_processor(device):
        return DeviceMissing(f"an OpenCL compiler that knows {name}: {release} does not", INSTALL)
    if device.platform.name == _POCL and not compiles_right(cl, device):
        return DeviceMissing(
            f"an OpenCL compiler that is right for {name}: {release} loses the bound of a store "
            "behind a barrier, so that kernels write beyond their arrays",
            f"{INSTALL}; or a later release of PoCL",
        )
    return None


def knows_no_processor(device: Any) -> bool:
    """True if a device is PoCL on a processor that its compiler does not know."""
    # PoCL puts its compiler's name of the processor last.
    return bool(
        device.platform.name == _POCL
        and device.version.rstrip().endswith("x86_64-unknown-linux-gnu-generic")
    )


def _intel_library() -> Path | None:
    import importlib.metadata

    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in files if file.name == "libintelocl.so"]
    return found[0].resolve() if found and found[0].exists() else None


def compilers_words(error: str) -> str:
    """A compiler's message, out of PyOpenCL's error.

    PyOpenCL puts its own error's name before the message, once for each attempt, and its options
    after it.
    """
    _, built, log = error.partition("\nBuild on ")
    log = log.partition("\n")[2] if built else error
    return log.partition("\n(options:")[0].strip()
