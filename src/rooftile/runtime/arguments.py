"""The checks of a call's arrays: one kind, one place, the right dtype and shape."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import parse_device
from rooftile.errors import InputError
from rooftile.ops.problem import Array as ArrayOf
from rooftile.runtime.arrays import FLOAT32, library_of

Array = TypeVar("Array")
"""The kind of array that a call is given and gives back."""

ANY = "..."
"""The ``axes`` of an array that may have any number of them."""

Taken = Any
"""An array that a kernel may use as it lies: NumPy's on the CPU, a `CudaArray` on a GPU."""


class Arguments(Generic[Array]):
    """The arrays of one call.  The first, x, sets the library of all, and where the call runs."""

    def __init__(self, x: Array, first: str = "x") -> None:
        """``first`` is x's name.  Raises `InputError` for an x of an unknown kind or in an unknown
        place."""
        self.first, self._kind, self.library = first, type(x), library_of(first, x)
        self.gpu = self.library.gpu(first, x)

    def device(self, asked: str | None) -> str:
        """Where the call runs: where the caller asks, else where x is.  Raises `InputError`."""
        if self.gpu is None:
            return "cpu" if asked is None else asked
        own = f"cuda:{self.gpu}"
        # Without a number `cuda` is the GPU that the arrays are on.
        if asked not in (None, "cuda") and parse_device(asked) != ("cuda", self.gpu):
            raise InputError("device", repr(asked), f"None or {own!r}, where {self.first} is")
        return own

    def take(
        self,
        name: str,
        value: Any,
        axes: str,
        *,
        dtypes: tuple[str, ...] = FLOAT32,
    ) -> Taken:
        """An array whose rank is that of ``axes``.

        A view that is not contiguous and aligned is copied.  Raises `InputError`, `OutOfMemory`.
        """
        array = self._look(name, value, dtypes)
        shape = array.shape
        if axes != ANY and len(shape) != (rank := axes.count(",") + 1):
            raise InputError(name, f"{len(shape)} axes {shape}", f"{rank}: [{axes}]")
        if 0 in shape:
            raise InputError(name, f"the empty shape {shape}", f"[{axes}] of at least 1 each")
        if isinstance(array, CudaArray):
            return array if array.ready else self.library.compact(name, array)
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            return np.asarray(array)
        copy = cpu.aligned(shape, array.dtype, f"a contiguous copy of {name}")
        copy[...] = array
        return copy

    def take_matrix(self, name: str, value: Any, axes: str, transposed: bool) -> tuple[Taken, bool]:
        """A matrix as it lies, and whether it lies transposed: of a view whose transpose is
        contiguous that is taken, and nothing is copied.  Raises the errors of `take`."""
        array = self._look(name, value, FLOAT32)
        if len(array.shape) == 2 and not _contiguous(array):
            turned = self.library.transposed(name, value)
            if _contiguous(self._look(name, turned, FLOAT32)):
                value, transposed = turned, not transposed
        return self.take(name, value, axes), transposed

    def take_bias(self, value: Any, count: int) -> Taken | None:
        """A vector, one element for each of the weights' first axis; None stands for zeros."""
        if value is None:
            return None
        array = self.take("bias", value, "maps")
        if array.shape != (count,):
            expected = f"({count},), one for each of weights"
            raise InputError("bias", f"shape {array.shape}", expected)
        return array

    def take_out(self, value: Any, result: ArrayOf, others: list[Taken]) -> Taken:
        """An array that a kernel may write its result straight into.  Raises `InputError`."""
        out = self._look("out", value, (result.dtype,))
        self.library.check_written("out", value)
        if out.shape != result.shape:
            raise InputError("out", f"shape {out.shape}", f"the result's shape {result.shape}")
        lacking = [word for word, has in _qualities(out).items() if not has]
        if lacking:
            raise InputError(
                "out", f"an array that is not {', '.join(lacking)}", "a plain new array"
            )
        if any(_overlap(out, other) for other in others):
            raise InputError("out", "an array that overlaps an argument", "memory of its own")
        return out

    def _look(self, name: str, value: Any, dtypes: tuple[str, ...]) -> Taken:
        library = self.library if type(value) is self._kind else library_of(name, value)
        if type(library) is not type(self.library):
            raise InputError(name, library.title, f"{self.library.title}, as {self.first} is")
        gpu = library.gpu(name, value)
        if gpu != self.gpu:
            there, here = ("the CPU" if g is None else f"cuda:{g}" for g in (gpu, self.gpu))
            raise InputError(
                name, f"{library.title} on {there}", f"one on {here}, where {self.first} is"
            )
        if gpu is None:
            return library.on_host(name, value, dtypes)
        return library.on_gpu(name, value, gpu, dtypes)


def _qualities(array: Taken) -> dict[str, bool]:
    if isinstance(array, CudaArray):
        return {
            "c_contiguous": array.contiguous,
            "aligned": array.ready or not array.contiguous,
            "writeable": array.writeable,
        }
    flags = array.flags
    return {w: bool(flags[w.upper()]) for w in ("c_contiguous", "aligned", "writeable")}


def _contiguous(array: Taken) -> bool:
    is_cuda = isinstance(array, CudaArray)
    return bool(array.contiguous if is_cuda else array.flags.c_contiguous)


def _overlap(out: Taken, other: Taken) -> bool:
    if isinstance(out, CudaArray):
        return out.overlaps(other)
    return np.may_share_memory(out, other)
