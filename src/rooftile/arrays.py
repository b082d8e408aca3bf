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
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.arrays import (
    allocate,
    allocate_for_export,
    exported,
    of_dlpack,
    of_interface,
)
from rooftile.errors import InputError

KINDS = (
    "a float32 array of NumPy, PyTorch, CuPy or JAX, or one in a GPU's memory with "
    "__cuda_array_interface__"
)
_NATIVE = "float32 in native byte order"
_LEGACY_STREAM = 1
"""The address of CUDA's default stream where it must have one (``CU_STREAM_LEGACY``)."""


class Library(ABC):
    """A kind of array: how one is looked at and how one is made."""

    title: str
    """What an array of it is called in messages."""
    capturable = False
    """Whether it gives memory to a call that is being captured into a graph."""

    @abstractmethod
    def gpu(self, name: str, array: Any) -> int | None:
        """The number of the CUDA GPU that holds the array; None for the CPU.

        Raises `InputError` naming the argument for an array that is nowhere or elsewhere.
        """

    def on_host(self, name: str, array: Any) -> Any:
        """An array in the CPU's memory as NumPy's, over the same memory."""
        raise NotImplementedError

    def from_host(self, result: Any) -> Any:
        """A NumPy array as this library's, over the same memory."""
        raise NotImplementedError

    def on_gpu(self, name: str, array: Any, gpu: int) -> CudaArray:
        """An array in a GPU's memory.  Raises `InputError` naming the argument."""
        raise NotImplementedError

    def transposed(self, name: str, array: Any) -> Any:
        """A matrix with its axes exchanged, over the same memory where the library can.

        Raises `InputError` naming the argument.
        """
        return array.T

    def compact(self, name: str, array: CudaArray) -> CudaArray:
        """A row-major copy without gaps, made on the caller's stream."""
        raise InputError(name, "an array with gaps, or off 16 bytes", "a row-major, aligned one")

    def stream(self, x: CudaArray) -> Any:
        """The caller's stream, with ``__cuda_stream__``; None where the library has none."""
        return None

    def empty(self, shape: tuple[int, ...], device: CudaDevice) -> CudaArray:
        """Uninitialised memory for use on the caller's stream.  Raises `OutOfMemory`."""
        return allocate(device, shape)

    def result(self, shape: tuple[int, ...], device: CudaDevice) -> CudaArray:
        """Memory for a result that the caller gets."""
        return self.empty(shape, device)

    def finish(self, result: CudaArray, device: CudaDevice) -> Any:
        """The result as the caller's array, once all that computes it has been started."""
        return result.owner


class Stream:
    """A stream of another library by its address."""

    def __init__(self, address: int) -> None:
        self.address = address or _LEGACY_STREAM

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


class NumPy(Library):
    """Arrays of the CPU."""

    title = "a NumPy array"

    def gpu(self, name: str, array: Any) -> int | None:
        return None

    def on_host(self, name: str, array: Any) -> Any:
        if array.dtype != np.float32:
            raise InputError(
                name, f"dtype {array.dtype.str if array.dtype.kind == 'f' else array.dtype}",
                f"{_NATIVE}; {name}.astype(numpy.float32) converts",
            )  # fmt: skip
        return array

    def from_host(self, result: Any) -> Any:
        return result


class Torch(Library):
    """Tensors of the CPU and of GPUs."""

    title = "a torch.Tensor"
    capturable = True

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def gpu(self, name: str, array: Any) -> int | None:
        if array.device.type not in ("cpu", "cuda"):
            raise InputError(name, f"{self.title} on {array.device}", "one on a CPU or CUDA GPU")
        return int(array.device.index) if array.device.type == "cuda" else None

    def _check(self, name: str, tensor: Any) -> None:
        torch = self._torch
        if tensor.layout != torch.strided:
            raise InputError(name, f"a tensor of layout {tensor.layout}", "a dense one")
        if tensor.dtype != torch.float32:
            raise InputError(name, f"dtype {tensor.dtype}", f"float32; {name}.float() converts")
        if name == "out" and tensor.is_neg():
            raise InputError(name, "a tensor that is stored negated", "a plain new tensor")
        if tensor.requires_grad and torch.is_grad_enabled():
            raise InputError(
                name, "a tensor that requires a gradient, which rooftile does not record",
                f"{name}.detach(), or a call inside torch.no_grad()",
            )  # fmt: skip

    def on_host(self, name: str, array: Any) -> Any:
        self._check(name, array)
        return array.detach().resolve_neg().numpy()

    def from_host(self, result: Any) -> Any:
        return self._torch.from_numpy(result)

    def on_gpu(self, name: str, array: Any, gpu: int) -> CudaArray:
        self._check(name, array)
        tensor = array.detach().resolve_neg()
        address, shape = tensor.data_ptr(), tuple(tensor.shape)
        return CudaArray(tensor, address, shape, gpu, tensor.is_contiguous())

    def compact(self, name: str, array: CudaArray) -> CudaArray:
        copy = array.owner.clone(memory_format=self._torch.contiguous_format)
        return CudaArray(copy, copy.data_ptr(), array.shape, array.device)

    def stream(self, x: CudaArray) -> Any:
        return Stream(self._torch.cuda.current_stream(x.device).cuda_stream)

    def empty(self, shape: tuple[int, ...], device: CudaDevice) -> CudaArray:
        torch, gpu = self._torch, device.description.index
        tensor = torch.empty(shape, dtype=torch.float32, device=f"cuda:{gpu}")
        return CudaArray(tensor, tensor.data_ptr(), shape, gpu)


class CuPy(Library):
    """Arrays of GPUs."""

    title = "a cupy.ndarray"
    capturable = True

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def _on(self, gpu: int) -> AbstractContextManager[Any]:
        current = self._cupy.cuda.Device()
        return nullcontext() if current.id == gpu else self._cupy.cuda.Device(gpu)

    def gpu(self, name: str, array: Any) -> int | None:
        return int(array.device.id)

    def on_gpu(self, name: str, array: Any, gpu: int) -> CudaArray:
        if array.dtype != np.float32:
            converts = f"{_NATIVE}; {name}.astype(cupy.float32) converts"
            raise InputError(name, f"dtype {array.dtype}", converts)
        shape = tuple(array.shape)
        return CudaArray(array, int(array.data.ptr), shape, gpu, array.flags.c_contiguous)

    def compact(self, name: str, array: CudaArray) -> CudaArray:
        with self._on(array.device):
            copy = self._cupy.array(array.owner, order="C", copy=True)
        return CudaArray(copy, int(copy.data.ptr), array.shape, array.device)

    def stream(self, x: CudaArray) -> Any:
        with self._on(x.device):
            return Stream(self._cupy.cuda.get_current_stream().ptr)

    def empty(self, shape: tuple[int, ...], device: CudaDevice) -> CudaArray:
        gpu = device.description.index
        with self._on(gpu):
            array = self._cupy.empty(shape, np.float32)
        return CudaArray(array, int(array.data.ptr), shape, gpu)


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

    def _check(self, name: str, array: Any) -> None:
        if array.dtype != np.float32:
            raise InputError(name, f"dtype {array.dtype}", "float32")
        if name == "out":
            raise InputError(name, f"{self.title}, which cannot be written to", "None")

    def on_host(self, name: str, array: Any) -> Any:
        self._check(name, array)
        return np.asarray(array)

    def from_host(self, result: Any) -> Any:
        return self._jax.dlpack.from_dlpack(result)

    def on_gpu(self, name: str, array: Any, gpu: int) -> CudaArray:
        self._check(name, array)
        return of_dlpack(name, array, gpu)

    def result(self, shape: tuple[int, ...], device: CudaDevice) -> CudaArray:
        return allocate_for_export(device, shape)

    def finish(self, result: CudaArray, device: CudaDevice) -> Any:
        device.mark().sync()
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
        return of_interface(name, array).device

    def on_gpu(self, name: str, array: Any, gpu: int) -> CudaArray:
        return of_interface(name, array)

    def stream(self, x: CudaArray) -> Any:
        return Stream(x.stream or _LEGACY_STREAM)

    def result(self, shape: tuple[int, ...], device: CudaDevice) -> CudaArray:
        raise InputError("out", None, "an array of x's kind, which rooftile cannot make itself")


def library_of(name: str, array: Any) -> Library:
    """The library whose array this is.  Raises `InputError` naming the argument."""
    if isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray):
        return NumPy()
    for module, attribute, library in (
        ("torch", "Tensor", Torch),
        ("cupy", "ndarray", CuPy),
        ("jax", "Array", Jax),
    ):
        found = sys.modules.get(module)
        if found is not None and isinstance(array, getattr(found, attribute, ())):
            return library(found)
    if hasattr(array, "__cuda_array_interface__"):
        return Interface()
    raise InputError(name, f"a {type(array).__name__}", KINDS)
