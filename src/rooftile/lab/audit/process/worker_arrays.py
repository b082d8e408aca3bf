"""Arrays of NumPy, PyTorch and CuPy over memory that the judge shares.  No rooftile in here."""

from __future__ import annotations

import importlib
import importlib.util
import math
import mmap
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rooftile.lab.audit.process.worker_driver import Driver

_HEAP_POISON = 0x7FC0BEEF
"""`rooftile.lab.audit.poison.HEAP`, which this script must not import."""


Open = Callable[[dict[str, Any]], "Driver"]
"""Opens the driver for a request; the device must have a context."""


def library(
    kind: str, request: dict[str, Any], arena: mmap.mmap | None, driver: Open | None
) -> Any:
    """The arrays of a kind on the request's device; ``driver`` is needed on a GPU alone."""
    if driver is None:
        return {"numpy": Numpy, "torch": CpuTensors}[kind](arena)
    return {"torch": CudaTorch, "cupy": CudaCupy}[kind](request, driver)


class Numpy:
    """NumPy arrays in the shared memory."""

    name = "NumPy"

    def __init__(self, arena: mmap.mmap | None) -> None:
        self._arena = arena

    def has(self, dtype: str) -> bool:
        """True if the library has numbers of this dtype."""
        return dtype != "bfloat16" or importlib.util.find_spec("ml_dtypes") is not None

    def array(self, offset: int, shape: list[int], dtype: str) -> Any:
        """The array at an offset."""
        assert self._arena is not None
        kind = importlib.import_module("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype
        return np.frombuffer(self._arena, kind, math.prod(shape), offset).reshape(shape)

    def scrub(self, nbytes: int) -> None:
        """Leave poison in the memory that the kernel's next allocations will get."""
        held = [np.full(-(-nbytes // 4), _HEAP_POISON, np.uint32) for _ in range(2)]
        del held

    def start(self) -> None:
        """Start what the library's clocks measure; this comes before the first call."""

    def stop(self) -> dict[str, float]:
        """The clocks after the last call; on return everything must be done."""
        return {}

    def deliver(self, made: Any, target: Any) -> dict[str, str] | None:
        """Copy a result to where the judge looks for it, and return what is strange about it."""
        strange = self.strange(made, target)
        try:
            np.copyto(target, made, casting="unsafe")
        except (TypeError, ValueError):
            return strange or {"kind": "form", "what": f"a {type(made).__name__}"}
        return strange

    def strange(self, made: Any, target: Any) -> dict[str, str] | None:
        """Why a result is not what was asked for; None when it is."""
        if isinstance(made, np.generic) and not target.shape:
            made = np.asarray(made)  # NumPy's own sums are such scalars.
        if type(made) is not np.ndarray:
            array = hasattr(made, "__array__") or hasattr(made, "__array_interface__")
            return {
                "kind": "lazy" if array and not isinstance(made, np.generic) else "form",
                "what": f"a {_name(made)} instead of a numpy.ndarray",
            }
        if made.shape != target.shape:
            return {"kind": "form", "what": f"shape {made.shape} instead of {target.shape}"}
        if made.dtype != target.dtype:
            return {"kind": "form", "what": f"dtype {made.dtype} instead of {target.dtype}"}
        return None

    def operations(self, call: Callable[[int], object]) -> list[str]:
        """Library operations of one call, where the library keeps a record of them."""
        return []

    def changed_timers(self) -> list[str]:
        """Timers of the library that are no longer its own."""
        return []


class CpuTensors(Numpy):
    """PyTorch tensors in the CPU's memory."""

    name = "PyTorch"
    device = "cpu"

    def __init__(self, arena: Any) -> None:
        super().__init__(arena)
        self._torch = importlib.import_module("torch")
        self._torch.set_grad_enabled(False)

    def has(self, dtype: str) -> bool:
        """See `Numpy.has`."""
        return True

    def array(self, offset: int, shape: list[int], dtype: str) -> Any:
        """See `Numpy.array`."""
        made = self._torch.from_numpy(super().array(offset, shape, _carrier(dtype)))
        return made.view(getattr(self._torch, dtype))

    def scrub(self, nbytes: int) -> None:
        """See `Numpy.scrub`."""
        torch = self._torch
        like = {"dtype": torch.int32, "device": self.device}
        held = [torch.full((-(-nbytes // 4),), _HEAP_POISON, **like) for _ in range(2)]
        del held

    def deliver(self, made: Any, target: Any) -> dict[str, str] | None:
        """See `Numpy.deliver`."""
        strange = self.strange(made, target)
        try:
            target.copy_(made)
        except (TypeError, ValueError, RuntimeError):
            return strange or {"kind": "form", "what": f"a {type(made).__name__}"}
        return strange

    def strange(self, made: Any, target: Any) -> dict[str, str] | None:
        """See `Numpy.strange`."""
        if type(made) not in (self._torch.Tensor, self._torch.nn.Parameter):
            lazy = isinstance(made, self._torch.Tensor) or hasattr(made, "__torch_function__")
            what = f"a {_name(made)} instead of a torch.Tensor"
            return {"kind": "lazy" if lazy else "form", "what": what}
        for what in ("device", "shape", "dtype"):
            got, asked = getattr(made, what), getattr(target, what)
            if got != asked:
                got, asked = (tuple(v) if what == "shape" else v for v in (got, asked))
                return {"kind": "form", "what": f"{what} {got} instead of {asked}"}
        return None

    def operations(self, call: Callable[[int], object]) -> list[str]:
        """See `Numpy.operations`: by PyTorch's profiler, kernels of the GPU included."""
        with self._torch.profiler.profile() as profile:
            call(0)
            self.stop()
        return sorted({event.key for event in profile.key_averages()})

    def changed_timers(self) -> list[str]:
        """See `Numpy.changed_timers`."""
        genuine = {
            "torch.cuda.Event.elapsed_time": self._torch.cuda.Event.elapsed_time,
            "torch.cuda.Event.record": self._torch.cuda.Event.record,
            "torch.cuda.synchronize": self._torch.cuda.synchronize,
        }
        return [
            name
            for name, item in genuine.items()
            if not str(getattr(item, "__module__", "")).startswith("torch.cuda")
        ]


class _Shared:
    """Shared device memory, as both libraries take it."""

    def __init__(self, address: int, shape: list[int], dtype: str) -> None:
        self.__cuda_array_interface__ = {
            "shape": tuple(shape),
            "typestr": np.dtype(dtype).str,
            "data": (address, False),
            "version": 3,
            "strides": None,
        }


class _Cuda:
    """The common base of both libraries' arrays on a GPU."""

    _driver: Driver

    def _stream(self) -> int:
        raise NotImplementedError

    def _event(self) -> Any:
        raise NotImplementedError

    def start(self) -> None:
        """See `Numpy.start`."""
        self._driver.mark(0, self._stream())
        self._first = self._event()

    def stop(self) -> dict[str, float]:
        """See `Numpy.stop`: wait for the whole device, and return what three clocks say."""
        last = self._event()
        self._driver.mark(1, self._stream())
        self._driver.wait()
        return {"event_s": self._driver.between(), "library_s": self._between(last)}

    def _between(self, last: Any) -> float:
        return 1e-3 * float(self._first.elapsed_time(last))

    def delay(self, sources: list[Any], targets: list[Any]) -> None:
        """Let the inputs arrive late, in the order of the current stream."""
        self._driver.wait()
        stream = self._stream()
        self._driver.delay(stream)
        for source, target in zip(sources, targets, strict=True):
            nbytes = math.prod(source.shape) * source.dtype.itemsize
            self._driver.copy(_address(source), _address(target), nbytes, stream)


class CudaTorch(_Cuda, CpuTensors):
    """PyTorch tensors in a GPU's memory."""

    def __init__(self, request: dict[str, Any], driver: Open) -> None:
        CpuTensors.__init__(self, None)
        self.device = f"cuda:{_index(request)}"
        self._torch.cuda.set_device(self.device)
        self._torch.zeros(1, device=self.device)  # makes the context
        self._driver = driver(request)

    def array(self, offset: int, shape: list[int], dtype: str) -> Any:
        """See `Numpy.array`."""
        shared = _Shared(self._driver.base + offset, shape, _carrier(dtype))
        made = self._torch.as_tensor(shared, device=self.device)
        return made.view(getattr(self._torch, dtype))

    def _stream(self) -> int:
        return int(self._torch.cuda.current_stream().cuda_stream)

    def _event(self) -> Any:
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event


class CudaCupy(_Cuda, Numpy):
    """CuPy arrays."""

    name = "CuPy"

    def __init__(self, request: dict[str, Any], driver: Open) -> None:
        cupy = self._cupy = importlib.import_module("cupy")
        cupy.cuda.Device(_index(request)).use()
        cupy.zeros(1)  # makes the context
        self._driver = driver(request)
        self._elapsed = cupy.cuda.get_elapsed_time

    def has(self, dtype: str) -> bool:
        """See `Numpy.has`."""
        return dtype != "bfloat16"

    def array(self, offset: int, shape: list[int], dtype: str) -> Any:
        """See `Numpy.array`."""
        return self._cupy.asarray(_Shared(self._driver.base + offset, shape, dtype))

    def scrub(self, nbytes: int) -> None:
        """See `Numpy.scrub`."""
        held = [self._cupy.full(-(-nbytes // 4), _HEAP_POISON, np.uint32) for _ in range(2)]
        del held

    def deliver(self, made: Any, target: Any) -> dict[str, str] | None:
        """See `Numpy.deliver`."""
        strange = self.strange(made, target)
        try:
            target[...] = made
        except (TypeError, ValueError):
            return strange or {"kind": "form", "what": f"a {type(made).__name__}"}
        return strange

    def strange(self, made: Any, target: Any) -> dict[str, str] | None:
        """See `Numpy.strange`."""
        if type(made) is not self._cupy.ndarray:
            lazy = hasattr(made, "__cuda_array_interface__")
            what = f"a {_name(made)} instead of a cupy.ndarray"
            return {"kind": "lazy" if lazy else "form", "what": what}
        for what in ("device", "shape", "dtype"):
            got, asked = getattr(made, what), getattr(target, what)
            if got != asked:
                return {"kind": "form", "what": f"{what} {got} instead of {asked}"}
        return None

    def operations(self, call: Callable[[int], object]) -> list[str]:
        """See `Numpy.operations`: CuPy's vendor modules that a call loaded."""
        call(0)
        self.stop()
        vendors = ("cublas", "cudnn", "cusolver", "cusparse", "cufft", "cutensor")
        loaded = [name for name in sys.modules if name.startswith("cupy")]
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            mapped = maps.read()
        return sorted({v for v in vendors if f"lib{v}." in mapped and loaded})

    def changed_timers(self) -> list[str]:
        """See `Numpy.changed_timers`."""
        same = self._cupy.cuda.get_elapsed_time is self._elapsed
        return [] if same else ["cupy.cuda.get_elapsed_time"]

    def _stream(self) -> int:
        return int(self._cupy.cuda.get_current_stream().ptr)

    def _event(self) -> Any:
        event = self._cupy.cuda.Event()
        event.record()
        return event

    def _between(self, last: Any) -> float:
        return 1e-3 * float(self._cupy.cuda.get_elapsed_time(self._first, last))


def _index(request: dict[str, Any]) -> int:
    return int(request["device"].partition(":")[2] or 0)


def _address(array: Any) -> int:
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.data.ptr)


def _carrier(dtype: str) -> str:
    """NumPy's dtype of the same width, in which memory for PyTorch's is handed over."""
    return "int16" if dtype == "bfloat16" else dtype


def _name(made: Any) -> str:
    return f"{type(made).__module__}.{type(made).__qualname__}"
