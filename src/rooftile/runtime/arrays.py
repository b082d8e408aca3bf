"""Whose arrays a call is given: NumPy's, or another library's, on the CPU or on a CUDA GPU.

No library is imported here: its arrays can only be there when its user has imported it.
Arrays are taken and given back without a copy.  On a GPU the work goes to the stream that
is current in the caller's library, and that library allocates the result and the
temporaries, so that its allocator knows which stream still uses them.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.arrays import (
    ALIGNMENT,
    allocate,
    allocate_for_export,
    exported,
    gpu_of_interface,
    of_dlpack,
    of_interface,
)
from rooftile.errors import InputError
from rooftile.ops.problem import AnyArray, numpy_dtype

KINDS = (
    "a float32 array of NumPy, PyTorch, CuPy or JAX, or one in a GPU's memory with "
    "__cuda_array_interface__"
)
FLOAT32 = ("float32",)
"""The dtypes that an argument may have, where nothing else is said."""
_BFLOAT16 = numpy_dtype("bfloat16")
_LEGACY_STREAM = 1
"""The address of CUDA's default stream where it must have one (``CU_STREAM_LEGACY``)."""


class Library(ABC):
    """A kind of array: how arrays of it are read and made."""

    title: str
    """What an array of it is called in messages."""
    capturable = False
    """Whether it gives memory to a call that is being captured into a graph."""

    @abstractmethod
    def gpu(self, name: str, array: Any) -> int | None:
        """The number of the CUDA GPU that holds the array; None for the CPU.

        Raises `InputError` naming the argument for an array that lies in neither.
        """

    def on_host(self, name: str, array: Any, dtypes: tuple[str, ...] = FLOAT32) -> AnyArray:
        """An array in the CPU's memory as NumPy's, over the same memory."""
        raise NotImplementedError

    def from_host(self, result: Any) -> Any:
        """A NumPy array as this library's, over the same memory."""
        raise NotImplementedError

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        """An array in a GPU's memory.  Raises `InputError` naming the argument."""
        raise NotImplementedError

    def check_written(self, name: str, array: Any) -> None:
        """Raise `InputError` naming the argument for an array that a call cannot write."""
        return

    def transposed(self, name: str, array: Any) -> Any:
        """A matrix with its axes exchanged, over the same memory where the library can.

        Raises `InputError` naming the argument.
        """
        return array.T

    def compact(self, name: str, array: CudaArray) -> CudaArray:
        """A row-major copy without gaps, made on the caller's stream."""
        raise InputError(name, "an array with gaps, or off 16 bytes", "a row-major, aligned one")

    def stream(self, x: CudaArray) -> int | None:
        """The address of the caller's stream; None where the library has none."""
        return None

    def empty(
        self, shape: tuple[int, ...], device: CudaDevice, dtype: str = "float32"
    ) -> CudaArray:
        """Uninitialised memory for use on the caller's stream.  Raises `OutOfMemory`."""
        return allocate(device, shape, dtype)

    graph_pool = True
    """Whether memory that it gives to a captured call stays the graph's."""
    quick = False
    """Whether it has the next three, for calls that were made before."""

    def plain_address(self, array: Any, gpu: int, dtype: Any) -> int:
        """The address of a row-major, aligned array on this GPU that nothing else is special
        about; 0 for anything else.  ``dtype`` is the library's own, as in `plain`."""
        raise NotImplementedError

    def plain(self, shape: tuple[int, ...], gpu: int, dtype: Any = None) -> tuple[Any, int]:
        """A new array of the library's own, float32 if nothing is said, and its address."""
        raise NotImplementedError

    def own_dtype(self, name: str) -> Any:
        """A dtype of ours as the library's."""
        return numpy_dtype(name)

    def current_stream(self, gpu: int) -> int:
        """The address of the caller's stream on a GPU."""
        raise NotImplementedError

    def result(
        self,
        shape: tuple[int, ...],
        device: CudaDevice,
        dtype: str = "float32",
        channels_last: bool = False,
    ) -> CudaArray:
        """Memory for a result that the caller gets."""
        return self.empty(shape, device, dtype)

    def finish(self, result: CudaArray, device: CudaDevice) -> Any:
        """The result as the caller's array, once all that computes it has been started."""
        return result.owner


class NumPy(Library):
    """Arrays of the CPU."""

    title = "a NumPy array"

    def gpu(self, name: str, array: Any) -> int | None:
        return None

    def on_host(self, name: str, array: Any, dtypes: tuple[str, ...] = FLOAT32) -> Any:
        for one in dtypes:
            if array.dtype == numpy_dtype(one):
                return array
        found = array.dtype.str if array.dtype.kind == "f" else array.dtype
        converts = f"{_native(dtypes)}; {name}.astype(numpy.{dtypes[0]}) converts"
        raise InputError(name, f"dtype {found}", converts)

    def from_host(self, result: Any) -> Any:
        return result


class Torch(Library):
    """Tensors of the CPU and of GPUs."""

    title = "a torch.Tensor"
    capturable = quick = True

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        names = ("float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8", "bool")
        self._names = {getattr(torch, name): name for name in names if hasattr(torch, name)}
        self._current = getattr(torch._C, "_cuda_getCurrentRawStream", self._slow_stream)
        self._float32, self._strided = torch.float32, torch.strided
        self._gpus: dict[int, Any] = {}

    def gpu(self, name: str, array: Any) -> int | None:
        if array.is_cuda:
            return int(array.get_device())
        if not array.is_cpu:
            raise InputError(name, f"{self.title} on {array.device}", "one on a CPU or CUDA GPU")
        return None

    def _check(self, name: str, tensor: Any, dtypes: tuple[str, ...]) -> str:
        """The tensor's dtype."""
        torch, found = self._torch, self._names.get(tensor.dtype, "")
        if tensor.layout != torch.strided:
            raise InputError(name, f"a tensor of layout {tensor.layout}", "a dense one")
        if found not in dtypes:
            converts = f"{name}.float()" if dtypes == FLOAT32 else f"{name}.to(torch.{dtypes[0]})"
            expected = f"{' or '.join(dtypes)}; {converts} converts"
            raise InputError(name, f"dtype {tensor.dtype}", expected)
        if tensor.requires_grad and torch.is_grad_enabled():
            raise InputError(
                name,
                "a tensor that requires a gradient, which rooftile does not record",
                f"{name}.detach(), or a call inside torch.no_grad()",
            )
        return found

    def check_written(self, name: str, array: Any) -> None:
        if array.is_neg():
            raise InputError(name, "a tensor that is stored negated", "a plain new tensor")

    def on_host(self, name: str, array: Any, dtypes: tuple[str, ...] = FLOAT32) -> Any:
        tensor = array.detach().resolve_neg()
        if self._check(name, array, dtypes) == "bfloat16":
            # PyTorch gives NumPy no bfloat16; 16-bit integers carry it.
            return tensor.view(self._torch.int16).numpy().view(_BFLOAT16)
        return tensor.numpy()

    def from_host(self, result: Any) -> Any:
        if result.dtype == _BFLOAT16:
            return self._torch.from_numpy(result.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(result)

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        dtype = self._check(name, array, dtypes)
        tensor = array.detach().resolve_neg() if array.is_neg() else array
        contiguous = tensor.is_contiguous()
        made = CudaArray(tensor, tensor.data_ptr(), tensor.shape, gpu, contiguous, dtype=dtype)
        if not contiguous and tensor.dim() == 4:
            last = self._torch.channels_last
            made.channels_last = tensor.is_contiguous(memory_format=last)
        return made

    def compact(self, name: str, array: CudaArray) -> CudaArray:
        copy = array.owner.detach().clone(memory_format=self._torch.contiguous_format)
        return replace(
            array, owner=copy, address=copy.data_ptr(), contiguous=True, channels_last=False
        )

    def stream(self, x: CudaArray) -> int:
        return self._current(x.device) or _LEGACY_STREAM

    def current_stream(self, gpu: int) -> int:
        return self._current(gpu) or _LEGACY_STREAM

    def _slow_stream(self, gpu: int) -> int:
        return int(self._torch.cuda.current_stream(gpu).cuda_stream)

    def own_dtype(self, name: str) -> Any:
        return getattr(self._torch, name)

    def plain_address(self, array: Any, gpu: int, dtype: Any) -> int:
        if (
            _libraries.get(type(array)) is not self
            or array.dtype is not dtype
            or array.layout is not self._strided
            or array.get_device() != gpu
            or not array.is_contiguous()
            or (array.requires_grad and self._torch.is_grad_enabled())
            or array.is_neg()
        ):
            return 0
        address: int = array.data_ptr()
        return 0 if address % ALIGNMENT else address

    def plain(self, shape: tuple[int, ...], gpu: int, dtype: Any = None) -> tuple[Any, int]:
        kind = dtype or self._float32
        tensor = self._torch.empty(shape, dtype=kind, device=self._gpus[gpu])
        return tensor, tensor.data_ptr()

    def empty(
        self, shape: tuple[int, ...], device: CudaDevice, dtype: str = "float32"
    ) -> CudaArray:
        torch, gpu = self._torch, device.description.index
        if gpu not in self._gpus:
            self._gpus[gpu] = torch.device("cuda", gpu)
        tensor = torch.empty(shape, dtype=getattr(torch, dtype), device=self._gpus[gpu])
        return CudaArray(tensor, tensor.data_ptr(), shape, gpu, dtype=dtype)

    def result(
        self,
        shape: tuple[int, ...],
        device: CudaDevice,
        dtype: str = "float32",
        channels_last: bool = False,
    ) -> CudaArray:
        made = self.empty(shape, device, dtype)
        if channels_last:
            batch, channels, height, width = shape
            tensor = made.owner.view(batch, height, width, channels).permute(0, 3, 1, 2)
            made.owner, made.channels_last, made.contiguous = tensor, True, False
        return made


class CuPy(Library):
    """Arrays of GPUs."""

    title = "a cupy.ndarray"
    capturable = quick = True
    graph_pool = False

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def _on(self, gpu: int) -> AbstractContextManager[Any]:
        current = self._cupy.cuda.Device()
        return nullcontext() if current.id == gpu else self._cupy.cuda.Device(gpu)

    def gpu(self, name: str, array: Any) -> int | None:
        return int(array.device.id)

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        if not any(array.dtype == numpy_dtype(one) for one in dtypes):
            converts = f"{_native(dtypes)}; {name}.astype(cupy.{dtypes[0]}) converts"
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
        with self._on(gpu):
            return int(self._cupy.cuda.get_current_stream().ptr) or _LEGACY_STREAM

    def plain_address(self, array: Any, gpu: int, dtype: Any) -> int:
        if (
            _libraries.get(type(array)) is not self
            or array.dtype != dtype
            or not array.flags.c_contiguous
            or array.device.id != gpu
        ):
            return 0
        address = int(array.data.ptr)
        return 0 if address % ALIGNMENT else address

    def plain(self, shape: tuple[int, ...], gpu: int, dtype: Any = None) -> tuple[Any, int]:
        with self._on(gpu):
            array = self._cupy.empty(shape, dtype or np.float32)
        return array, int(array.data.ptr)

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
        if result.dtype == _BFLOAT16:
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


class Interface(Library):
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
        return x.stream or _LEGACY_STREAM

    def result(
        self,
        shape: tuple[int, ...],
        device: CudaDevice,
        dtype: str = "float32",
        channels_last: bool = False,
    ) -> CudaArray:
        raise InputError("out", None, "an array of x's kind, which rooftile cannot make itself")


def _native(dtypes: tuple[str, ...]) -> str:
    return f"{' or '.join(dtypes)} in native byte order"


_libraries: dict[type, Library] = {np.ndarray: NumPy()}
"""By the type of their arrays, as they come."""


def library_of(name: str, array: Any) -> Library:
    """The library whose array this is.  Raises `InputError` naming the argument."""
    kind = type(array)
    if (known := _libraries.get(kind)) is not None:
        return known
    if isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray):
        return _libraries[np.ndarray]
    for module, attribute, library in (
        ("torch", "Tensor", Torch),
        ("cupy", "ndarray", CuPy),
        ("jax", "Array", Jax),
    ):
        found = sys.modules.get(module)
        if found is not None and isinstance(array, getattr(found, attribute, ())):
            return _libraries.setdefault(kind, library(found))
    if hasattr(array, "__cuda_array_interface__"):
        return Interface()
    raise InputError(name, f"a {kind.__name__}", KINDS)
