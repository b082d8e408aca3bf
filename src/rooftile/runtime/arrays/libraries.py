"""The libraries of a call's arrays: NumPy, or another one, on the CPU or on a CUDA GPU.

No library is imported here: its arrays can only be there when its user has imported it.
Arrays are taken and given back without a copy.  On a GPU the work goes to the stream that
is current in the caller's library, and that library allocates the result and the
temporaries, so that its allocator knows which stream still uses them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from rooftile.errors import InputError
from rooftile.runtime.arrays.base import FLOAT32, Library, NumPy

KINDS = (
    "a float32 array of NumPy, PyTorch, CuPy or JAX, or one in a GPU's memory with "
    "__cuda_array_interface__"
)
_CLASSES = {"torch": ("Tensor", "Torch"), "cupy": ("ndarray", "CuPy"), "jax": ("Array", "Jax")}
"""By module, the type of its arrays and the class that reads and makes them."""
libraries: dict[type, Library] = {np.ndarray: NumPy()}
"""By the type of their arrays, as they come."""
_by_module: dict[int, tuple[Any, Library]] = {}
"""By the module, which is held so that no other gets its number."""


def library_of(name: str, array: Any) -> Library:
    """The library whose array this is.  Raises `InputError` naming the argument."""
    kind = type(array)
    if (known := libraries.get(kind)) is not None:
        return known
    if isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray):
        return libraries[np.ndarray]
    for module, (attribute, own) in _CLASSES.items():
        found = sys.modules.get(module)
        if found is not None and isinstance(array, getattr(found, attribute, ())):
            # What reads arrays of a GPU loads much that calls on NumPy's never need.
            library = getattr(import_module(f"rooftile.runtime.arrays.{module}"), own)
            _, known = _by_module.setdefault(id(found), (found, library(found)))
            known.kinds.add(kind)
            return libraries.setdefault(kind, known)
    if hasattr(array, "__cuda_array_interface__"):
        from rooftile.runtime.arrays.cuda_interface import CudaInterface

        return CudaInterface()
    raise InputError(name, f"a {kind.__name__}", KINDS)


__all__ = ["FLOAT32", "KINDS", "Library", "library_of"]
