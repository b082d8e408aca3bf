"""Arrays of JAX."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.exchange import allocate_for_export, exported, of_dlpack
from rooftile.errors import InputError
from rooftile.ops.array import numpy_dtype
from rooftile.runtime.arrays.base import FLOAT32, Library


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
