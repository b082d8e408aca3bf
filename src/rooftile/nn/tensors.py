"""Safetensors files: read with errors that name the file, written in one step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from rooftile._files import write_atomically
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
