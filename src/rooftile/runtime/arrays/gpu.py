"""Arrays of CuPy and JAX, and others that lie in a GPU's memory."""

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
from rooftile.devices.cuda.exchange import (
    allocate_for_export,
    exported,
    gpu_of_interface,
    of_dlpack,
    of_interface,
)
from rooftile.errors import InputError
from rooftile.ops.problem import numpy_dtype
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


class Jax(Library):
    """Arrays of the CPU and of GPUs, by DLPack.

    JAX has no current stream: on a GPU the work goes to the device's own, after what
    computes the arguments, and the call returns when the result is there.
    """

    title = "a jax.Array"

    def __init__(self, jax: Any) -> None:
        self._jax = jax
        self.kinds = set[type]()

    def gpu(self, name: str, array: Any) -> int | None:
        if isinstance(array, self._jax.core.Tracer):
            raise InputError(name, "a tracer, inside a transformation of JAX", "an array")
        devices = array.devices()
        platform = next(iter(devices)).platform
        if len(devices) > 1 or platform not in ("cpu", "gpu", "cuda"):
            where = ", ".join(sorted(map(str, devices)))
            raise InputError(name, f"{self.title} on {where}", "one on a CPU or one CUDA GPU")
        return None if platform == "cpu" else int(array.__dlpack_device__()[1])

    def _check(self, name: str, array: Any, dtypes: tuple[str, ...]) -> None:
        if str(array.dtype) not in dtypes:
            raise InputError(name, f"dtype {array.dtype}", " or ".join(dtypes))

    def check_written(self, name: str, array: Any) -> None:
        raise InputError(name, f"{self.title}, which cannot be written to", "None")

    def on_host(self, name: str, array: Any, dtypes: tuple[str, ...] = FLOAT32) -> Any:
        self._check(name, array, dtypes)
        return np.asarray(array)

    def from_host(self, result: Any) -> Any:
        if result.dtype == numpy_dtype("bfloat16"):
            return self._jax.numpy.asarray(result)  # DLPack takes none of NumPy's.
        return self._jax.dlpack.from_dlpack(result)

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        self._check(name, array, dtypes)
        return of_dlpack(name, array, gpu, str(array.dtype))

    def result(
        self,
        shape: tuple[int, ...],
        device: CudaDevice,
        dtype: str = "float32",
        channels_last: bool = False,
    ) -> CudaArray:
        return allocate_for_export(device, shape, dtype)

    def finish(self, result: CudaArray, device: CudaDevice) -> Any:
        device.mark().sync()
        if result.dtype == "bfloat16":
            # No type of NumPy's carries it to DLPack; integers of as many bits do.
            bits = self._jax.dlpack.from_dlpack(exported(replace(result, dtype="uint16")))
            return self._jax.lax.bitcast_convert_type(bits, self._jax.numpy.bfloat16)
        return self._jax.dlpack.from_dlpack(exported(result))


class CudaInterface(Library):
    """Arrays of GPUs that other libraries hold, by ``__cuda_array_interface__``.

    The work goes to the stream that x names, else to CUDA's default stream.
    """

    title = "an array with __cuda_array_interface__"

    def transposed(self, name: str, array: Any) -> Any:
        found = f"{self.title}, which rooftile cannot transpose itself"
        raise InputError(name, found, "one that lies transposed, and says so")

    def gpu(self, name: str, array: Any) -> int | None:
        return gpu_of_interface(array)

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        return of_interface(name, array, dtypes)

    def stream(self, x: CudaArray) -> int:
        return x.stream or LEGACY_STREAM

    def result(
        self,
        shape: tuple[int, ...],
        device: CudaDevice,
        dtype: str = "float32",
        channels_last: bool = False,
    ) -> CudaArray:
        raise InputError("out", None, "an array of x's kind, which rooftile cannot make itself")
