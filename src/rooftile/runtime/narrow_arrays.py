"""bfloat16 between libraries in the CPU's memory, and JAX's on a GPU: as bits, by `ml_dtypes`.

PyTorch gives NumPy no bfloat16, and DLPack none of NumPy's: 16-bit integers carry it there and
back.  Every other dtype goes the ways of `rooftile.runtime.arrays`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.ops import AnyArray
from rooftile.runtime.arrays import Jax, Library, Torch

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def on_host(library: Library, name: str, array: Any, dtypes: tuple[str, ...]) -> AnyArray:
    """An array in the CPU's memory as NumPy's, over the same memory.

    Raises `InputError` naming the argument, as `Library.on_host` does.
    """
    if isinstance(library, Torch) and str(array.dtype) == "torch.bfloat16":
        library._check(name, array, dtypes)
        bits = array.detach().resolve_neg().view(sys.modules["torch"].int16)
        found: AnyArray = bits.numpy().view(_BFLOAT16)
    else:
        found = library.on_host(name, array, dtypes)
    return found


def from_host(library: Library, result: AnyArray) -> Any:
    """A NumPy array as the library's; over the same memory, but for JAX's bfloat16."""
    if result.dtype != _BFLOAT16:
        return library.from_host(result)
    if isinstance(library, Torch):
        return library.from_host(result.view(np.int16)).view(sys.modules["torch"].bfloat16)
    if isinstance(library, Jax):
        return sys.modules["jax"].numpy.asarray(result)
    return library.from_host(result)


def finish(library: Library, result: CudaArray, device: CudaDevice) -> Any:
    """`Library.finish`, for JAX's bfloat16 too, which is copied once on the device."""
    if not isinstance(library, Jax) or result.dtype != "bfloat16":
        return library.finish(result, device)
    bits = library.finish(replace(result, dtype="uint16"), device)
    jax = sys.modules["jax"]
    return jax.lax.bitcast_convert_type(bits, jax.numpy.bfloat16)
