"""A sparse matrix as the kernels of its products take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray
from rooftile.errors import InputError
from rooftile.functional.sparse_matrices.device_arrays import DeviceArrays, kept
from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.rows import ARRAYS, Form
from rooftile.ops.sparse.spmv import Spmv
from rooftile.ops.sparse.tiles import tile_rows
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.calls.scalars import placed


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
        self._problems: dict[tuple[bool, bool], Spmv] = {}
        self._there: dict[Any, tuple[Taken, ...]] = {}
        self._tiled: dict[Any, Taken] = {}

    def problem(self, updated: bool, resident: bool = False) -> Spmv:
        """The problem of a product with a vector; of a matrix that stays ``resident`` on a GPU,
        and whose rows are of different lengths, with what `Spmv.tiled` says."""
        if (updated, resident) not in self._problems:
            made = self._problem(updated)
            tiled = resident and made.form == "csr" and not made.even
            self._problems[updated, resident] = replace(made, tiled=tiled)
        return self._problems[updated, resident]

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

    def on(self, given: Arguments[Any], x: Taken, tiled: bool = False) -> tuple[Taken, ...]:
        """The arrays on x's device; ``tiled``: after them the first entries of tiles."""
        arrays = self._arrays
        if not isinstance(x, CudaArray):
            return (*arrays.values(), *([self._tiles()] if tiled else []))
        key = given.library.title, x.device
        if key not in self._there:
            lent = arrays.lent(x.device) if isinstance(arrays, DeviceArrays) else None
            self._there[key] = lent or tuple(placed(given, x, a) for a in arrays.values())
        if not tiled:
            return self._there[key]
        if key not in self._tiled:
            self._tiled[key] = placed(given, x, self._tiles())
        return *self._there[key], self._tiled[key]

    def _tiles(self) -> AnyArray:
        return tile_rows(self._arrays["row_offsets"])


def check_length(name: str, array: Taken, expected: int) -> None:
    """Raise `InputError` unless it has ``expected`` elements, or rows."""
    if array.shape[0] != expected:
        raise InputError(name, f"{array.shape[0]} elements", f"{expected}, as A has them")
