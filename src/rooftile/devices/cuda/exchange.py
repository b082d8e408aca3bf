"""Arrays of a GPU through the two protocols for them, and memory of ours.

Sources: the CUDA Array Interface, version 3 (Numba's documentation); DLPack 1.0.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from typing import Any

import numpy as np

from rooftile.devices.cuda.array import CudaArray, item_bytes
from rooftile.devices.cuda.compile import cuda_core
from rooftile.devices.cuda.contexts import kept_context
from rooftile.devices.cuda.device import CudaDevice
from rooftile.devices.cuda.driver import answer, current_context
from rooftile.devices.cuda.opening import open_device
from rooftile.errors import InputError

_NAMES = (
    "float32", "float16", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "bool",
)  # fmt: skip
_TYPES = {np.dtype(name).str: name for name in _NAMES}
"""Names of the protocol's types, in native byte order; it has none for bfloat16."""


_DEVICE_ORDINAL = 9
"""CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL."""


def gpu_of_interface(array: Any) -> int:
    """The GPU of an array with ``__cuda_array_interface__``; 0 where it is empty."""
    address, _ = array.__cuda_array_interface__["data"]
    return device_of(address) if address else 0


def of_interface(name: str, array: Any, dtypes: tuple[str, ...] = ("float32",)) -> CudaArray:
    """An array with ``__cuda_array_interface__``.  Raises `InputError` naming the argument."""
    told = array.__cuda_array_interface__
    if told.get("mask") is not None:
        raise InputError(name, "a masked array", "one without a mask")
    found = _TYPES.get(told["typestr"], "")
    if found not in dtypes:
        expected = f"{' or '.join(dtypes)} in native byte order"
        raise InputError(name, f"dtype {told['typestr']}", expected)
    address, read_only = told["data"]
    shape, strides = tuple(told["shape"]), told.get("strides")
    return CudaArray(
        owner=array,
        address=address,
        shape=shape,
        device=gpu_of_interface(array),
        contiguous=strides is None or _contiguous(shape, strides, int(told["typestr"][2:])),
        writeable=not read_only,
        stream=told.get("stream"),
        dtype=found,
    )


def of_dlpack(name: str, array: Any, device: int, dtype: str = "float32") -> CudaArray:
    """A DLPack array on a GPU, ready for the device's own stream.

    Raises `InputError` naming the argument, `DeviceMissing`.
    """
    with kept_context():
        stream = open_device(device).own_stream
        try:
            view = _view_class().from_dlpack(array, stream_ptr=stream)
        except (BufferError, RuntimeError, ValueError) as error:
            title = f"a {type(array).__name__} that DLPack cannot pass on ({error})"
            raise InputError(name, title, "an array on one GPU") from None
    shape, strides = tuple(view.shape), view.strides
    return CudaArray(
        # What DLPack lent lasts as long as the view.
        owner=(array, view),
        address=int(view.ptr),
        shape=shape,
        device=device,
        contiguous=strides is None or _contiguous(shape, tuple(strides), 1),
        dtype=dtype,
    )


def allocate(device: CudaDevice, shape: tuple[int, ...], dtype: str = "float32") -> CudaArray:
    """Memory of ours; it is freed in the order of the stream that is present now."""
    memory = device.allocate(item_bytes(dtype) * math.prod(shape))
    return CudaArray(memory, int(memory.handle), shape, device.description.index, dtype=dtype)


def allocate_for_export(
    device: CudaDevice, shape: tuple[int, ...], dtype: str = "float32"
) -> CudaArray:
    """Memory of ours; freeing it waits for the device, because its last user is not known."""
    memory = device.allocate_alone(item_bytes(dtype) * math.prod(shape))
    return CudaArray(memory, memory.handle, shape, device.description.index, dtype=dtype)


def exported(array: CudaArray) -> Any:
    """Memory of ours as an object with ``__dlpack__``, which keeps it."""
    buffer = cuda_core().Buffer.from_handle(array.address, array.nbytes, owner=array.owner)
    return _view_class().from_buffer(buffer, array.shape, dtype=np.dtype(array.dtype))


def _view_class() -> Any:
    cuda_core()
    from cuda.core.utils import StridedMemoryView

    return StridedMemoryView


def device_of(address: int) -> int:
    """The GPU that holds an address.  Raises `DeviceMissing`, `RuntimeError`."""
    with kept_context():
        current = 0
        with contextlib.suppress(OSError):
            current = current_context()
        if not current:
            # The driver answers only a thread that has some GPU.
            open_device()
        place = ctypes.c_uint64(address)
        return int(answer("cuPointerGetAttribute", ctypes.c_int, _DEVICE_ORDINAL, place))


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...], expected: int) -> bool:
    """True if strides are row-major without gaps and the last axis has stride ``expected``."""
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True
