"""NVRTC compiles kernel texts to cubins, which are kept on disk; it needs no GPU."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rooftile._files import keep, keep_sealed, sealed
from rooftile.devices.cache import cache_directory
from rooftile.devices.cuda.nvrtc import INSTALL, Refused, compiled
from rooftile.devices.first_use import imported
from rooftile.devices.gpu import key_of, macro_lines, prelude
from rooftile.devices.text import whole
from rooftile.errors import CompileFailure, DeviceMissing

_FIRST_SPECIFIC = 90
"""The first architecture with instructions that later ones do not keep."""
_KERNEL = re.compile(r"^__global__", re.MULTILINE)
turns: dict[str, threading.Lock] = {}
"""Of each text that was compiled: threads that want the same one at once wait for one of them."""


def cuda_core() -> Any:
    """The module ``cuda.core``.  Raises `DeviceMissing`."""
    try:
        return imported("cuda.core")
    except ImportError as error:
        raise DeviceMissing(f"NVIDIA's Python package cuda-core ({error})", INSTALL) from None


def compile_cubin(
    text: str, macros: Mapping[str, int | str], architecture: str, folders: Sequence[Path] = ()
) -> bytes:
    """Machine code of a kernel text after the prelude for an architecture such as ``sm_90``.

    Raises `CompileFailure` with the compiler's log; the source is kept next to the cache.
    """
    source = f'{macro_lines(macros)}extern "C" {{\n{prelude()}{text}\n}}\n'
    entire = whole(source, folders)
    key = key_of(entire, architecture, _version())
    path = cache_directory() / "cuda" / f"{key}.cubin"
    if (found := sealed(path)) is not None:
        return found
    with turns.setdefault(key, threading.Lock()):
        # Another thread may have had its turn since.
        if (found := sealed(path)) is not None:
            return found
        several = len(_KERNEL.findall(entire)) > 1
        code = compiled_text(source, architecture, folders, path.with_suffix(".cu"), several)
        keep_sealed(path, code)
    return code


def has_compiled() -> bool:
    """True if this process has found a text that no other had compiled."""
    return bool(turns)


def compiled_text(
    source: str, architecture: str, folders: Sequence[Path], kept: Path, several: bool
) -> bytes:
    """The same of a whole source, which is kept where the compiler refuses it; one of ``several``
    kernels is optimised by as many threads as there are cores."""
    options = [f"-arch={architecture}", *(f"--include-path={folder}" for folder in folders)]
    # Without what kernels of ours do not use, such as textures, a compile begins 15 ms earlier.
    options += ["--std=c++17", *(["--split-compile=0"] if several else []), "--minimal"]
    try:
        return compiled(source, options)
    except Refused as error:
        keep(kept, source.encode())
        raise CompileFailure(f"CUDA text for {architecture}", str(error), str(kept)) from None


def specific(architecture: str) -> str:
    """The architecture with what only its own generation has: our code runs on no other GPU."""
    number = int(architecture.removeprefix("sm_"))
    return f"{architecture}a" if number >= _FIRST_SPECIFIC else architecture


@cache
def _version() -> str:
    """The compiler's version, which each kernel's key has, by the name of its package's folder:
    what reads packages' metadata takes longer to import than a kernel to load."""
    for folder in sys.path:
        for found in Path(folder).glob("nvidia_cuda_nvrtc-*.dist-info"):
            return found.stem.partition("-")[2]
    return os.environ.get("CUDA_HOME", "system")
