"""Kernel texts to cubins with NVRTC, which needs no GPU; kept on disk."""

from __future__ import annotations

import importlib.metadata
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rooftile.devices.cache import cache_directory
from rooftile.devices.gpu import key_of, macro_lines, prelude
from rooftile.errors import CompileFailure, DeviceMissing

INSTALL = 'pip install "rooftile[cuda]", which brings cuda-core and NVRTC'
_FIRST_SPECIFIC = 90
"""The first architecture with instructions that later ones do not keep."""


def cuda_core() -> Any:
    """The module ``cuda.core``.  Raises `DeviceMissing`."""
    try:
        import cuda.core
    except ImportError as error:
        raise DeviceMissing(f"NVIDIA's Python package cuda-core ({error})", INSTALL) from None
    return cuda.core


def compile_cubin(text: str, macros: Mapping[str, int | str], architecture: str) -> bytes:
    """Machine code of a kernel text behind the prelude for an architecture such as ``sm_90``.

    Raises `CompileFailure` with the compiler's log; the source is kept beside the cache.
    """
    source = f'{macro_lines(macros)}extern "C" {{\n{prelude()}{text}\n}}\n'
    compiler = _version()
    path = cache_directory() / "cuda" / f"{key_of(source, architecture, compiler)}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        pass
    core = cuda_core()
    options = core.ProgramOptions(arch=architecture, std="c++17")
    try:
        code = bytes(core.Program(source, "c++", options).compile("cubin").code)
    except Exception as error:
        # NVRTC's error class is private to cuda-core; whatever it raises carries the log.
        kept = path.with_suffix(".cu")
        _write(kept, source.encode())
        raise CompileFailure(f"CUDA text for {architecture}", str(error), str(kept)) from None
    _write(path, code)
    return code


def specific(architecture: str) -> str:
    """With the instructions of this very generation: what we compile runs nowhere else."""
    number = int(architecture.removeprefix("sm_"))
    return f"{architecture}a" if number >= _FIRST_SPECIFIC else architecture


def _version() -> str:
    try:
        return importlib.metadata.version("nvidia-cuda-nvrtc")
    except importlib.metadata.PackageNotFoundError:
        return os.environ.get("CUDA_HOME", "system")


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all; a cache that cannot be written is no reason to fail."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        os.replace(file.name, path)
    except OSError:
        pass
