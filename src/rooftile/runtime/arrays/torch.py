"""Tensors of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.array import ALIGNMENT
from rooftile.devices.cuda.driver import LEGACY_STREAM
from rooftile.errors import InputError
from rooftile.ops.array import DTYPES, numpy_dtype
from rooftile.runtime.arrays.base import FLOAT32, UNSEEN, Library, Reader


class Torch(Library):
    """Tensors of the CPU and of GPUs."""

    title = "a torch.Tensor"
    capturable = quick = has_layouts = True

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.kinds = set[type]()
        # Old releases have no unsigned integers beyond 8 bits.
        self._names = {getattr(torch, name): name for name in DTYPES if hasattr(torch, name)}
        self._current = getattr(torch._C, "_cuda_getCurrentRawStream", self._slow_stream)
        self._float32 = torch.float32
        # What code that PyTorch compiles calls for its results: half of the time of `torch.empty`.
        guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
        self._empty_strided: Any = getattr(guards, "_empty_strided_cuda", None)
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
        self.check_unrecorded(name, tensor)
        return found

    def check_unrecorded(self, name: str, array: Any) -> None:
        if array.requires_grad and self._torch.is_grad_enabled():
            raise InputError(
                name,
                "a tensor that requires a gradient, which rooftile does not record",
                f"{name}.detach(), or a call inside torch.no_grad()",
            )

    def check_written(self, name: str, array: Any) -> None:
        if array.is_neg():
            raise InputError(name, "a tensor that is stored negated", "a plain new tensor")

    def on_host(self, name: str, array: Any, dtypes: tuple[str, ...] = FLOAT32) -> Any:
        tensor = array.detach().resolve_neg()
        if self._check(name, array, dtypes) == "bfloat16":
            # PyTorch gives NumPy no bfloat16; 16-bit integers carry it.
            return tensor.view(self._torch.int16).numpy().view(numpy_dtype("bfloat16"))
        try:
            return tensor.numpy()
        except RuntimeError as error:
            # Inside of torch.func.vmap it stands for several.
            found = f"a tensor without memory of its own ({error})"
            raise InputError(name, found, "a plain tensor, outside of torch.func") from None

    def seen_by_numpy(self, array: Any) -> Any:
        try:
            return array.numpy() if type(array) in self.kinds else UNSEEN
        # It is on a GPU, is sparse, stored negated, or has a gradient.
        except (RuntimeError, TypeError):
            return UNSEEN

    def from_host(self, result: Any) -> Any:
        if result.dtype == numpy_dtype("bfloat16"):
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
        return self._current(x.device) or LEGACY_STREAM

    def current_stream(self, gpu: int) -> int:
        return self._current(gpu) or LEGACY_STREAM

    def _slow_stream(self, gpu: int) -> int:
        return int(self._torch.cuda.current_stream(gpu).cuda_stream)

    def own_dtype(self, name: str) -> Any:
        return getattr(self._torch, name)

    def stream_of(self, gpu: int) -> Callable[[], int]:
        current = self._current
        return lambda: current(gpu) or LEGACY_STREAM

    def reader(self, gpu: int, dtypes: Sequence[Any], places: Sequence[int]) -> Reader:
        kinds, records = self.kinds, self._torch.is_grad_enabled

        def address_of(array: Any, dtype: Any) -> int | None:
            """None where anything is special about it."""
            try:
                if (
                    type(array) not in kinds
                    or array.dtype is not dtype
                    or array.get_device() != gpu
                    or not array.is_contiguous()
                    or (array.requires_grad and records())
                    or array.is_neg()
                    or (address := array.data_ptr()) % ALIGNMENT
                ):
                    return None
            except RuntimeError:
                # A sparse array has no address as a whole.
                return None
            return address  # type: ignore[no-any-return]

        def read(arrays: Sequence[Any], addresses: list[Any]) -> bool:
            for number, array in enumerate(arrays):
                if array is not None:
                    address = address_of(array, dtypes[number])
                    if address is None:
                        return False
                    addresses[places[number]] = address
            return True

        def read_one(arrays: Sequence[Any], addresses: list[Any]) -> bool:
            address = address_of(arrays[0], dtype)
            if address is None:
                return False
            addresses[place] = address
            return True

        if len(dtypes) > 1:
            return read
        # As most calls of prepared operations and of plans.
        (dtype,), (place, *_) = dtypes, places
        return read_one

    def _place(self, gpu: int) -> Any:
        """PyTorch's word for a GPU: to make it anew takes as long as to ask for it."""
        found = self._gpus.get(gpu)
        if found is None:
            found = self._gpus[gpu] = self._torch.device("cuda", gpu)
        return found

    def maker(
        self, shape: tuple[int, ...], gpu: int, dtype: Any = None
    ) -> Callable[[], tuple[Any, int]]:
        kind, place = dtype or self._float32, self._place(gpu)
        shape = tuple(map(int, shape))  # PyTorch takes no kind of tuple but this.
        empty, strides = self._empty_strided, _strides(shape)

        def made() -> tuple[Any, int]:
            tensor = empty(shape, strides, kind)
            return tensor, tensor.data_ptr()

        def slowly_made() -> tuple[Any, int]:
            tensor = self._torch.empty(shape, dtype=kind, device=place)
            return tensor, tensor.data_ptr()

        return made if empty else slowly_made

    def empty(
        self, shape: tuple[int, ...], device: CudaDevice, dtype: str = "float32"
    ) -> CudaArray:
        torch, gpu = self._torch, device.description.index
        tensor = torch.empty(shape, dtype=getattr(torch, dtype), device=self._place(gpu))
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


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Elements from each to the next along the axes of a row-major array."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
