"""Arrays of CuPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.array import ALIGNMENT
from rooftile.devices.cuda.driver import LEGACY_STREAM
from rooftile.errors import InputError
from rooftile.ops.array import numpy_dtype
from rooftile.runtime.arrays.base import FLOAT32, Library, Reader, native


class CuPy(Library):
    """Arrays of GPUs."""

    title = "a cupy.ndarray"
    capturable = quick = True
    graph_pool = False

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.kinds = set[type]()
        # CuPy makes its flags anew for each question; what they are made of it has at hand.
        at_hand = hasattr(cupy.ndarray, "_c_contiguous")
        self._contiguous = attrgetter("_c_contiguous" if at_hand else "flags.c_contiguous")

    def _on(self, gpu: int) -> AbstractContextManager[Any]:
        current = self._cupy.cuda.Device()
        return nullcontext() if current.id == gpu else self._cupy.cuda.Device(gpu)

    def gpu(self, name: str, array: Any) -> int | None:
        return int(array.device.id)

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        if not any(array.dtype == numpy_dtype(one) for one in dtypes):
            converts = f"{native(dtypes)}; {name}.astype(cupy.{dtypes[0]}) converts"
            raise InputError(name, f"dtype {array.dtype}", converts)
        shape, dtype = tuple(array.shape), array.dtype.name
        contiguous = array.flags.c_contiguous
        return CudaArray(array, int(array.data.ptr), shape, gpu, contiguous, dtype=dtype)

    def compact(self, name: str, array: CudaArray) -> CudaArray:
        with self._on(array.device):
            copy = self._cupy.array(array.owner, order="C", copy=True)
        return replace(array, owner=copy, address=int(copy.data.ptr), contiguous=True)

    def stream(self, x: CudaArray) -> int:
        return self.current_stream(x.device)

    def current_stream(self, gpu: int) -> int:
        cuda = self._cupy.cuda
        if cuda.Device().id == gpu:
            # To enter `_on` and leave it takes longer than both questions.
            stream = cuda.get_current_stream()
        else:
            with cuda.Device(gpu):
                stream = cuda.get_current_stream()
        return int(stream.ptr) or LEGACY_STREAM

    def stream_of(self, gpu: int) -> Callable[[], int]:
        current = self._cupy.cuda.get_current_stream
        # Nobody asks for the thread's GPU: that is known to be this one.
        return lambda: current().ptr or LEGACY_STREAM

    def reader(self, gpu: int, dtypes: Sequence[Any], places: Sequence[int]) -> Reader:
        kinds, contiguous = self.kinds, self._contiguous

        def read(arrays: Sequence[Any], addresses: list[Any]) -> bool:
            for number, array in enumerate(arrays):
                if array is None:
                    continue
                if (
                    type(array) not in kinds
                    or array.dtype != dtypes[number]
                    or not contiguous(array)
                ):
                    return False
                data = array.data
                addresses[places[number]] = address = data.ptr
                if address % ALIGNMENT or data.device_id != gpu:
                    return False
            return True

        return read

    def maker(
        self, shape: tuple[int, ...], gpu: int, dtype: Any = None
    ) -> Callable[[], tuple[Any, int]]:
        kind = np.dtype(dtype or np.float32)
        # As `cupy.empty` does it, without what it asks of its arguments.
        array, allocate = self._cupy.ndarray, self._cupy.cuda.alloc
        nbytes = math.prod(shape) * kind.itemsize

        def made() -> tuple[Any, int]:
            memory = allocate(nbytes)
            return array(shape, kind, memory), memory.ptr

        return made

    def empty(
        self, shape: tuple[int, ...], device: CudaDevice, dtype: str = "float32"
    ) -> CudaArray:
        gpu = device.description.index
        with self._on(gpu):
            array = self._cupy.empty(shape, numpy_dtype(dtype))
        return CudaArray(array, int(array.data.ptr), shape, gpu, dtype=dtype)
