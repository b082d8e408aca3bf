"""The checks of a call's arrays: one kind, one place, the right dtype and shape."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np

from rooftile.devices import cpu, cuda
from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import parse_device
from rooftile.errors import InputError, check_word
from rooftile.ops import AnyArray, Precision
from rooftile.ops.problem import Array as ArrayOf
from rooftile.ops.problem import Dtype, numpy_dtype
from rooftile.runtime.arrays import layouts
from rooftile.runtime.arrays.libraries import FLOAT32, library_of
from rooftile.runtime.selection.choice import ROUNDING_KINDS

Array = TypeVar("Array")
"""The kind of array that a call is given and gives back."""

FLOATS = ("float32", "float16", "bfloat16")
"""The dtypes of arrays whose kernels take float32, or numbers of 16 bits."""
_PRECISIONS = {"float16": "fp16", "bfloat16": "bf16"}
"""The precisions of 16-bit arrays."""
ANY = "..."
"""The ``axes`` of an array that may have any number of them."""

Taken = Any
"""An array that a kernel may use without a copy: NumPy's on the CPU, a `CudaArray` on a GPU."""


class Arguments(Generic[Array]):
    """The arrays of one call.  The first, x, sets the library of all, and where the call runs."""

    def __init__(
        self, x: Array, first: str = "x", *, forms: bool = False, double: bool = False
    ) -> None:
        """``first`` is x's name. ``forms``: arrays may be of 16 bits, and images have their
        channels last. ``double``: all arrays may be float64. Raises `InputError` for an x of an
        unknown kind or in an unknown place."""
        self.first, self.kind, self.library = first, type(x), library_of(first, x)
        self.gpu = self.library.gpu(first, x)
        self._forms = forms
        self._floats = (*(FLOATS if forms else FLOAT32), *(("float64",) if double else ()))
        self._layouts = forms and self.library.has_layouts
        self.dtype, self.channels_last = "float32", False
        """The dtype and layout of x, which its result has too."""
        self.plain = True
        """True if all arrays on a GPU are row-major float32."""
        self.kept = True
        """True if the call may be kept for the next one like it: its arrays are row-major."""

    def device(self, asked: str | None) -> str:
        """The device of the call: the requested one, else x's. Raises `InputError`."""
        if self.gpu is None:
            if asked is not None and not isinstance(asked, str):
                parse_device(asked)
            return "cpu" if asked is None else asked
        own = f"cuda:{self.gpu}"
        # Without a number `cuda` is the GPU that the arrays are on.
        if asked is not None and asked != "cuda" and parse_device(asked) != ("cuda", self.gpu):
            raise InputError("device", repr(asked), f"None or {own!r}, where {self.first} is")
        return own

    def precision(self, asked: str, place: str) -> str:
        """The precision of the call in a ``place``: that of x's numbers where they have 16 bits.
        Where no strategy rounds, numbers of 16 bits are computed with as float32, which keeps them.
        Raises `InputError` for a precision that they do not have."""
        if self.dtype == "float32":
            return asked
        check_word("precision", asked, get_args(Precision))
        if self.dtype == "float64":
            if asked != "ieee":
                raise InputError("precision", repr(asked), f"'ieee': {self.first} is float64")
            return asked
        own = _PRECISIONS[self.dtype]
        if asked not in ("ieee", own):
            raise InputError("precision", repr(asked), f"{own!r}: {self.first} is {self.dtype}")
        return own if parse_device(place)[0] in ROUNDING_KINDS else "ieee"

    def take(
        self,
        name: str,
        value: Any,
        axes: str,
        *,
        dtypes: tuple[str, ...] = FLOAT32,
        empty: bool | Literal["batch"] = False,
    ) -> Taken:
        """An array whose rank is that of ``axes``. ``empty``: it need not have any element;
        ``batch``: its first axis may have none. A view that is not contiguous and aligned is
        copied. Raises `InputError`, `OutOfMemory`."""
        if dtypes == FLOAT32:
            dtypes = self._floats
        array = self._look(name, value, dtypes)
        shape = array.shape
        if axes != ANY and len(shape) != (rank := axes.count(",") + 1):
            raise InputError(name, f"{len(shape)} axes {tuple(shape)}", f"{rank}: [{axes}]")
        if 0 in (shape[1:] if empty == "batch" else shape) and empty is not True:
            raise InputError(
                name, f"the empty shape {tuple(shape)}", f"[{axes}] of at least 1 each"
            )
        if isinstance(array, CudaArray):
            return self._on_gpu(name, array)
        last = self._layouts and layouts.has_channels_last(array)
        if name == self.first:
            self.channels_last = last
        if array.dtype.name in self._floats:
            self._note(name, array.dtype.name)
            if array.itemsize == 2:
                return self._widened(name, array)
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            return np.asarray(array)
        if last:
            return layouts.row_major(array)
        copy = cpu.aligned(array.shape, array.dtype, f"a contiguous copy of {name}")
        copy[...] = array
        return copy

    def take_rows(
        self, name: str, value: Any, *, empty: bool = False
    ) -> tuple[Taken, tuple[int, ...]]:
        """An array of any rank as rows of its last axis, and the other axes. ``empty``: there need
        not be anything in its last axis. Raises the errors of `take`, and `InputError` for an array
        without axes."""
        self._layouts = False
        array = self.take(name, value, ANY, empty=True)
        *leading, width = tuple(array.shape) or (0,)
        if not (width or (empty and array.shape)):
            found = f"the shape {tuple(array.shape)}"
            raise InputError(name, found, "a last axis of at least 1 element")
        return flattened(array, (math.prod(leading), width)), tuple(leading)

    def _on_gpu(self, name: str, array: CudaArray) -> CudaArray:
        if not array.ready or (array.channels_last and not self._layouts):
            array = self.library.compact(name, array)
        if array.dtype in self._floats:
            self._note(name, array.dtype)
        if self._forms and not array.plain:
            self.plain = False
            self.kept = self.kept and not array.channels_last
            if name == self.first:
                self.channels_last = array.channels_last
        return array

    def _widened(self, name: str, array: AnyArray) -> AnyArray:
        """A float32 copy: the CPU has no strategies for 16-bit numbers."""
        copy = cpu.aligned(array.shape, np.dtype(np.float32), f"{name} as float32")
        copy[...] = array
        return copy

    def _note(self, name: str, dtype: str) -> None:
        """Keep x's dtype, and refuse parameters of other 16-bit numbers, or of float64 where x is
        not."""
        if name == self.first:
            self.dtype = dtype
        elif "float64" in (dtype, self.dtype) and dtype != self.dtype:
            raise InputError(name, f"dtype {dtype}", f"{self.dtype}, as {self.first} is")
        elif dtype not in ("float32", self.dtype) and self.dtype != "float32":
            raise InputError(name, f"dtype {dtype}", f"float32 or {self.dtype}, as {self.first} is")

    def given_back(self, result: AnyArray) -> Any:
        """A float32 or float64 result of the CPU as the caller gets it."""
        if self.dtype != "float32":
            result = result.astype(numpy_dtype(self.dtype), copy=False)
        if self.channels_last and result.ndim == 4:
            result = layouts.channels_last(result)
        return self.library.from_host(result)

    def writes_into(self, out: AnyArray | None) -> bool:
        """True if a kernel of the CPU can write its result into the caller's array."""
        same = self.dtype in ("float32", "float64")
        return out is not None and same and bool(out.flags.c_contiguous)

    def take_matrix(
        self, name: str, value: Any, axes: str, transposed: bool, *, empty: bool = False
    ) -> tuple[Taken, bool]:
        """A matrix without a copy, and True if it is stored transposed: of a view whose transpose
        is contiguous, the transpose is taken. Raises the errors of `take`."""
        array = self._look(name, value, self._floats)
        if len(array.shape) == 2 and not _contiguous(array):
            turned = self.library.transposed(name, value)
            if _contiguous(self._look(name, turned, self._floats)):
                value, transposed = turned, not transposed
        return self.take(name, value, axes, empty=empty), transposed

    def take_bias(self, value: Any, count: int) -> Taken | None:
        """A vector, one element for each of the weights' first axis; None stands for zeros."""
        if value is None:
            return None
        array = self.take("bias", value, "maps")
        if array.shape != (count,):
            expected = f"({count},), one for each of weights"
            raise InputError("bias", f"shape {tuple(array.shape)}", expected)
        return array

    def take_out(self, value: Any, result: ArrayOf, others: list[Taken]) -> Taken:
        """An array that a kernel may write its result straight into.  Raises `InputError`."""
        dtype = self.dtype if result.dtype == "float32" else result.dtype
        out = self._look("out", value, (dtype,))
        self.library.check_written("out", value)
        if out.shape != result.shape:
            raise InputError(
                "out", f"shape {tuple(out.shape)}", f"the result's shape {result.shape}"
            )
        lacking = [word for word, has in _qualities(out, self._layouts).items() if not has]
        if lacking:
            raise InputError(
                "out", f"an array that is not {', '.join(lacking)}", "a plain new array"
            )
        if any(_overlap(out, other) for other in others):
            raise InputError("out", "an array that overlaps an argument", "memory of its own")
        if isinstance(out, CudaArray) and not out.plain:
            self.plain = False
            self.kept = self.kept and not out.channels_last
        return out

    def take_shaped_out(
        self, value: Any, result: ArrayOf, others: list[Taken], shape: tuple[int, ...] | None
    ) -> Taken:
        """`take_out` where the caller's array has a ``shape`` of its own, if that is no None."""
        if shape is None:
            return self.take_out(value, result, others)
        return flattened(self.take_out(value, replace(result, shape=shape), others), result.shape)

    def nothing(
        self,
        first: Taken,
        shape: tuple[int, ...],
        dtype: Dtype,
        device: str | None,
        out: Array | None,
        value: Any = 0,
    ) -> Array:
        """A result of this shape, in the place of ``first``, in which each element is ``value``.

        A dtype of float32 stands for that of x, as everywhere.  Raises `InputError` for a device or
        an ``out`` that another call would refuse.
        """
        parse_device(self.device(device))
        own: Any = self.dtype if dtype == "float32" else dtype
        to = None if out is None else self.take_out(out, ArrayOf("out", shape, own), [])
        values = np.full(shape, value, numpy_dtype(own))
        made: Array
        if isinstance(first, CudaArray):
            place = cuda.lent_device(first.device)
            with place.on(self.library.stream(first)):
                memory = to or self.library.result(shape, place, own)
                if values.size:
                    place.copy_in(values, memory.address)
                made = self.library.finish(memory, place) if out is None else out
        else:
            if to is not None:
                to[...] = values
            made = self.library.from_host(values) if out is None else out
        return made

    def _look(self, name: str, value: Any, dtypes: tuple[str, ...]) -> Taken:
        library = self.library if type(value) is self.kind else library_of(name, value)
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


def is_empty(*arrays: Taken) -> bool:
    """True if one of them has no element."""
    return any(0 in array.shape for array in arrays)


def computed_in(dtype: str) -> Literal["float32", "float64"]:
    """The dtype that a problem with arrays of this dtype has: 16 bits are conversions of it."""
    return "float64" if dtype == "float64" else "float32"


def flattened(array: Taken, shape: tuple[int, ...]) -> Taken:
    """The same elements of a row-major array in another shape."""
    if isinstance(array, np.ndarray):
        return array.reshape(shape)
    return replace(array, shape=shape)


def flat(array: Taken) -> Taken:
    """The same elements of a row-major array in a row."""
    return flattened(array, (math.prod(array.shape),))


def dtype_of(array: Taken) -> Any:
    """The name of an array's dtype."""
    return getattr(array.dtype, "name", array.dtype)


def _qualities(array: Taken, channels_last: bool) -> dict[str, bool]:
    if isinstance(array, CudaArray):
        dense = array.contiguous or (channels_last and array.channels_last)
        return {
            "c_contiguous": dense,
            "aligned": array.ready or not dense,
            "writeable": array.writeable,
        }
    flags = array.flags
    return {
        "c_contiguous": flags.c_contiguous or (channels_last and layouts.has_channels_last(array)),
        "aligned": flags.aligned,
        "writeable": flags.writeable,
    }


def _contiguous(array: Taken) -> bool:
    is_cuda = isinstance(array, CudaArray)
    return bool(array.contiguous if is_cuda else array.flags.c_contiguous)


def _overlap(out: Taken, other: Taken) -> bool:
    if isinstance(out, CudaArray):
        return out.overlaps(other)
    return np.may_share_memory(out, other)
