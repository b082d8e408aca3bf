"""What a stranger's process is not to see of the machine, and what it is told in its place."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from rooftile.devices.cache import cache_directory, history_file
from rooftile.devices.select import open_gpu
from rooftile.lab.audit.kernel import Foreign

_PACKAGE = Path(__file__).resolve().parents[3]


def hidden_from(kernel: Path) -> list[Path]:
    """Files that a kernel must not see: rooftile, and its data for its user.

    No folder of the kernel's own file can be hidden from it.
    """
    history = history_file()
    files = [history.with_name(history.name + end) for end in ("", "-wal", "-shm")]
    # There may be several of them: a checkout, and what is installed.
    packages = {Path(entry or ".").resolve() / _PACKAGE.name for entry in sys.path}
    folders = [*({_PACKAGE} | {one for one in packages if one.is_dir()}), cache_directory()]
    return [one for one in (*folders, *files) if not kernel.is_relative_to(one.absolute())]


def opencl_place(kernel: Foreign) -> dict[str, Any]:
    """Where a text's OpenCL device is found in a process that does not see rooftile's caches."""
    if not kernel.text:
        return {}
    platform, number = open_gpu(kernel.device).place  # type: ignore[attr-defined]
    vendors = os.environ.get("OCL_ICD_VENDORS", "")
    hidden = Path(vendors).is_relative_to(cache_directory())
    files = Path(vendors).glob("*.icd") if hidden else ()
    texts = {one.name: one.read_text(encoding="utf-8") for one in files}
    return {"place": (platform, number), "vendors": texts if hidden else None}
