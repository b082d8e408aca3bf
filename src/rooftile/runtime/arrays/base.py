"""The interface of a kind of array that a call uses, and NumPy's implementation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rooftile.devices.cuda import CudaArray
from rooftile.errors import InputError
from rooftile.ops.problem import AnyArray, numpy_dtype

if TYPE_CHECKING:
    from rooftile.devices.cuda import CudaDevice

FLOAT32 = ("float32",)
"""The dtypes that an argument may have, where nothing else is said."""

UNSEEN: object = object()
"""Stands for what is not seen as an array of NumPy."""
Reader = Callable[[Sequence[Any], list[Any]], bool]
"""Writes the addresses of arrays to their places in a list, and leaves alone the place of one that
is None; False where one is not as it should be."""


class Library(ABC):
    """A kind of array: how arrays of it are read and made."""

    title: str
    """The array's name in messages."""
    capturable = False
    """True if it allocates memory for a call that is being captured into a graph."""

    has_layouts = False
    """True if it tells images with their channels last from other views."""

    @abstractmethod
    def gpu(self, name: str, array: Any) -> int | None:
        """The number of the CUDA GPU that holds the array; None for the CPU. Raises `InputError`
        naming the argument for an array elsewhere."""

    def on_host(self, name: str, array: Any, dtypes: tuple[str, ...] = FLOAT32) -> AnyArray:
        """An array in the CPU's memory as NumPy's, over the same memory."""
        raise NotImplementedError

    def from_host(self, result: Any) -> Any:
        """A NumPy array as this library's, over the same memory."""
        raise NotImplementedError

    def seen_by_numpy(self, array: Any) -> Any:
        """An array of this library in the CPU's memory as NumPy's, over the same memory. What else
        it is given, and an array that anything is special about, becomes something that is no array
        of NumPy, so that the call goes the long way, which checks and explains."""
        return UNSEEN

    def on_gpu(
        self, name: str, array: Any, gpu: int, dtypes: tuple[str, ...] = FLOAT32
    ) -> CudaArray:
        """An array in a GPU's memory.  Raises `InputError` naming the argument."""
        raise NotImplementedError

    def check_written(self, name: str, array: Any) -> None:
        """Raise `InputError` naming the argument for an array that a call cannot write."""
        return

    def check_unrecorded(self, name: str, array: Any) -> None:
        """Raise `InputError` naming the argument for an array whose gradient would be recorded."""
        return

    def transposed(self, name: str, array: Any) -> Any:
        """A matrix with its axes exchanged, over the same memory where the library can. Raises
        `InputError` naming the argument."""
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
        from rooftile.devices.cuda.exchange import allocate

        return allocate(device, shape, dtype)

    kinds: set[type]
    """The types that its arrays were seen to have, where it is ``quick``."""
    graph_pool = True
    """True if memory that it allocates for a captured call stays the graph's."""
    quick = False
    """True if it has the next four methods, for repeated calls."""

    def reader(self, gpu: int, dtypes: Sequence[Any], places: Sequence[int]) -> Reader:
        """A `Reader` of row-major, aligned arrays of these dtypes, which are the library's own, on
        this GPU; nothing else may be special about them."""
        raise NotImplementedError

    def maker(
        self, shape: tuple[int, ...], gpu: int, dtype: Any = None
    ) -> Callable[[], tuple[Any, int]]:
        """A function that makes an array of the library's own, by default float32, on the thread's
        current GPU, which is this one; and gives its address."""
        raise NotImplementedError

    def own_dtype(self, name: str) -> Any:
        """A dtype of ours as the library's."""
        return numpy_dtype(name)

    def current_stream(self, gpu: int) -> int:
        """The address of the caller's stream on a GPU."""
        raise NotImplementedError

    def stream_of(self, gpu: int) -> Callable[[], int]:
        """A function that gives the current stream in the least time, where the GPU is the
        thread's."""
        return partial(self.current_stream, gpu)

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
        converts = f"{native(dtypes)}; {name}.astype(numpy.{dtypes[0]}) converts"
        raise InputError(name, f"dtype {found}", converts)

    def from_host(self, result: Any) -> Any:
        return result


def native(dtypes: tuple[str, ...]) -> str:
    """A message's expectation of a dtype."""
    return f"{' or '.join(dtypes)} in native byte order"
