"""Safetensors files: read with errors that name the file, written in one step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from rooftile.errors import InputError

Tensors = dict[str, NDArray[Any]]


def read_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """The tensors and the metadata of a safetensors file.  Raises `InputError`."""
    if not path.is_file():
        raise InputError(str(path), "no such file", "a safetensors file")
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, dict(file.metadata() or {})
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        # The last two are what safetensors raises for a dtype that NumPy lacks.
        raise InputError(str(path), f"an unreadable file ({error})", "safetensors") from error


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], metadata: dict[str, str]
) -> None:
    """Write a safetensors file; a reader sees the old file or the whole new one."""
    contiguous = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    write_atomically(path, save(contiguous, metadata))


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step.  Its directory is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            # A temporary file is private; the result is as readable as any new file.
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _umask() -> int:
    """The process's file mode mask; there is no call that reads it without setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
