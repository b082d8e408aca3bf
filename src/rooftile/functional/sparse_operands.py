"""A sparse matrix as the kernels of its products take it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray
from rooftile.errors import InputError
from rooftile.functional.device_arrays import DeviceArrays, kept
from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse_rows import ARRAYS, Form
from rooftile.ops.spmv import Spmv
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.scalars import placed


class Operands:
    """The arrays that kernels read, on each device that a product was asked for; and the problem.

    A matrix without entries is ELL of padding alone, since no array is empty.
    """

    def __init__(
        self, shape: tuple[int, int], form: Form, arrays: Mapping[str, AnyArray], entries: int
    ) -> None:
        held = kept(arrays)
        self._dtype: Any = held["values"].dtype
        self._index: Any = held[ARRAYS[form][1]].dtype
        self._shape, self._entries = shape, entries
        self._form: Form = form if entries else "ell"
        padding = {
            "values": np.zeros((1, shape[0]), self._dtype),
            "column_index": np.zeros((1, shape[0]), self._index),
        }
        self._arrays = arrays if entries else padding
        self._problems: dict[bool, Spmv] = {}
        self._there: dict[Any, tuple[Taken, ...]] = {}

    def problem(self, updated: bool) -> Spmv:
        """The problem of a product with a vector."""
        if updated not in self._problems:
            self._problems[updated] = self._problem(updated)
        return self._problems[updated]

    def _problem(self, updated: bool) -> Spmv:
        form, held = self._form, kept(self._arrays)
        values, width = held["values"].shape, 0
        if form == "csr":
            width = int(np.diff(self._arrays["row_offsets"]).max(initial=0))
        elif form in ("ell", "hybrid", "dia", "bsr"):
            width = values[0]
        elif form == "jds_t":
            width = len(held["section_offsets"]) - 1
        return Spmv(
            *self._shape,
            max(1, self._entries),
            form,
            self._dtype.name,
            self._index.name,
            updated,
            width,
            len(held["tail_values"]) if form == "hybrid" else 0,
            values[1] if form == "bsr" else 0,
        )

    def on(self, given: Arguments[Any], x: Taken) -> tuple[Taken, ...]:
        """The arrays where x lies."""
        arrays = self._arrays
        if not isinstance(x, CudaArray):
            return tuple(arrays.values())
        key = given.library.title, x.device
        if key not in self._there:
            lent = arrays.lent(x.device) if isinstance(arrays, DeviceArrays) else None
            self._there[key] = lent or tuple(placed(given, x, a) for a in arrays.values())
        return self._there[key]


def check_length(name: str, array: Taken, expected: int) -> None:
    """Raise `InputError` unless it has so many elements, or rows."""
    if array.shape[0] != expected:
        raise InputError(name, f"{array.shape[0]} elements", f"{expected}, as A has them")
