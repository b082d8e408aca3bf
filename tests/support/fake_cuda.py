"""A CUDA device that notes what it is told and computes nothing, and arrays on it."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from rooftile.devices.launches import PlainLaunches
from tests.support.some_gpu import some_gpu

_addresses = itertools.count(2**20, 2**26)
OWN = "own"
gpus: dict[int, int] = {}
"""The GPU of each address that an `Array` has."""


@dataclass
class Array:
    """An array on a GPU as its interface shows it."""

    shape: tuple[int, ...]
    gpu: int = 0
    stream: int | None = None
    strides: tuple[int, ...] | None = None
    read_only: bool = False
    typestr: str = "<f4"
    address: int = field(default_factory=lambda: next(_addresses))

    def __post_init__(self):
        gpus[self.address] = self.gpu

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (self.address, self.read_only),
            "strides": self.strides,
            "stream": self.stream,
            "version": 3,
        }


class Device:
    """Stands for a `CudaDevice`; ``log`` holds (what, stream, details) in order."""

    def __init__(self, index: int = 0, capturing: bool = False) -> None:
        self.description = replace(some_gpu("sm_80").description, index=index)
        self.name = self.description.device
        self.log: list[tuple[str, Any, Any]] = []
        self.is_capturing_now = capturing
        self._stream: Any = OWN

    def note(self, what: str, details: Any = None) -> None:
        self.log.append((what, self._stream, details))

    def of(self, what: str) -> list[tuple[Any, Any]]:
        """Streams and details of one kind of entry."""
        return [entry[1:] for entry in self.log if entry[0] == what]

    @contextlib.contextmanager
    def on(self, stream: Any = None):
        before = self._stream
        self._stream = OWN if stream is None else stream
        try:
            yield
        finally:
            self._stream = before

    def compile(self, text: str, macros: Any, folders: Any = ()) -> Program:
        self.note("compile")
        return Program(self)

    def allocate(self, nbytes: int) -> Any:
        self.note("allocate", nbytes)
        return SimpleNamespace(handle=next(_addresses))

    def allocate_alone(self, nbytes: int) -> Any:
        return self.allocate(nbytes)

    def copy(self, to: Any, source: Any, nbytes: int) -> None:
        self.note("copy", (to, source, nbytes))

    def clear(self, to: Any, nbytes: int) -> None:
        self.note("clear", (to, nbytes))

    def upload(self, array: Any) -> Any:
        self.note("upload", array.nbytes)
        return SimpleNamespace(handle=next(_addresses))

    def copy_in(self, array: Any, memory: Any) -> None:
        self.note("copy_in", memory)

    def copy_out(self, memory: Any, array: Any) -> None:
        self.note("copy_out", memory)
        array[...] = 1

    def put(self, value: Any, memory: Any) -> None:
        self.note("put", memory)

    def synchronise(self) -> None:
        self.note("synchronise")

    def capturing(self) -> bool:
        return self.is_capturing_now

    def is_current(self) -> bool:
        return True

    def is_capturing(self, stream: int) -> bool:
        return self.is_capturing_now

    def launches(self, work: Any, names: Any) -> Launches:
        return Launches(self, work, names)

    def address(self, memory: Any) -> int:
        return memory if isinstance(memory, int) else memory.handle

    def turns(self) -> Turns:
        return Turns(self)

    @contextlib.contextmanager
    def while_capturing(self):
        assert self.is_capturing_now
        self.is_capturing_now = False
        yield
        self.is_capturing_now = True

    def after_stream(self, address: int) -> None:
        self.note("after_stream", address)


class Launches(PlainLaunches):
    def __init__(self, device: Device, work: Any, names: Any) -> None:
        super().__init__(work, names)
        self._device = device

    def start(self, buffers: Any, stream: int = 0) -> None:
        with self._device.on(stream or self._device._stream):
            super().start(buffers)


class Turns:
    def __init__(self, device: Device) -> None:
        self._device = device

    def __enter__(self) -> None:
        self._device.note("turn begins")

    def __exit__(self, *raised: object) -> None:
        self._device.note("turn ends")

    def begin(self, stream: int) -> None:
        with self._device.on(stream):
            self.__enter__()

    def end(self, stream: int) -> None:
        with self._device.on(stream):
            self.__exit__()


class Program:
    def __init__(self, device: Device) -> None:
        self._device = device

    def set_constant(self, name: str, values: Any) -> None:
        self._device.note("set_constant", name)

    def fill_constant(self, name: str, source: Any, first: int, count: int) -> None:
        self._device.note("fill_constant", name)

    def launch(self, launch: Any, *arguments: Any) -> None:
        self._device.note("launch", (launch.kernel, arguments))


def library(device: Device) -> Any:
    """A module like CuPy, whose current stream is ``module.current``."""

    class ndarray:
        def __init__(
            self, shape, dtype=np.float32, memptr=None, *, gpu=0, address=None, contiguous=True
        ):
            shape = shape if isinstance(shape, tuple) else (shape,)
            self.shape, self.dtype = shape, np.dtype(dtype)
            self.data = memptr or SimpleNamespace(ptr=address or next(_addresses), device_id=gpu)
            self.device = SimpleNamespace(id=self.data.device_id)
            self.flags = SimpleNamespace(c_contiguous=contiguous)
            self.nbytes = math.prod(shape) * self.dtype.itemsize

    class Current(contextlib.nullcontext):
        def __init__(self, gpu=0):
            super().__init__()
            self.id = gpu

    def alloc(nbytes):
        device.note("alloc", nbytes)
        return SimpleNamespace(ptr=next(_addresses), device_id=device.description.index)

    def empty(shape, dtype):
        return ndarray(shape, dtype, alloc(math.prod(shape) * np.dtype(dtype).itemsize))

    def array(other, order, copy):
        device.note("copy", other)
        return ndarray(other.shape, gpu=other.device.id)

    module = SimpleNamespace(ndarray=ndarray, empty=empty, array=array, current=0)
    module.cuda = SimpleNamespace(
        Device=Current,
        alloc=alloc,
        get_current_stream=lambda: SimpleNamespace(ptr=module.current),
    )
    return module
