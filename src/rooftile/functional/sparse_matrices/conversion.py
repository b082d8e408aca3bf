"""Sparse matrices from one format to another on a GPU, where their arrays stay.

CSR stands between any two formats, as on the host.  Kernels move the entries
(`conversion.cu`); what depends on rows or diagonals alone the host decides, which reads the rows'
lengths or the diagonals that are in use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.devices.select import lent_gpu
from rooftile.functional.sparse_matrices.device_arrays import (
    DeviceArray,
    DeviceArrays,
    downloaded,
    kept,
)
from rooftile.functional.sparse_matrices.structure import check_padding
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.layouts import by_length, hybrid_width, sections_of
from rooftile.ops.sparse.rows import ARRAYS, Form, offsets_of
from rooftile.runtime.calls.gpu import executable
from rooftile.runtime.selection.choice import decide

TEXT = Path(__file__).with_name("conversion.cu")
HEADERS = Path(__file__).parents[2] / "strategies"
_THREADS = 128
_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "unsigned short",
    "int32": "int",
    "int64": "int64",
}


@dataclass(frozen=True)
class _Rows:
    """The arrays of CSR."""

    values: DeviceArray
    columns: DeviceArray
    offsets: DeviceArray


def converted(
    form: Form,
    shape: tuple[int, int],
    arrays: Mapping[str, AnyArray],
    to: Form,
    width: int | None,
    block: int,
    place: str,
) -> DeviceArrays:
    """The arrays of a matrix with entries in another format, in the memory of the GPU ``place``.

    ``width`` is that of a hybrid's ELL part, or None; ``block`` the rows of a block of BSR.  Raises
    `InputError` for a format that would be nearly all padding, `DeviceMissing`, `OutOfMemory`.
    """
    own = kept(arrays)["values"].shape[1] if form == "bsr" else block
    if to == "bsr" and own != block:
        # A converter's blocks are of one size.
        rows = converted(form, shape, arrays, "csr", None, own, place)
        return converted("csr", shape, rows, to, None, block, place)
    gpu: Any = lent_gpu(place)
    values, index = (kept(arrays)[name].dtype for name in ARRAYS[form][:2])
    with gpu.on():
        converter = Converter(gpu, place, shape, values, index, own)
        if isinstance(arrays, DeviceArrays) and arrays.place == place:
            held = arrays.held
        else:
            held = converter.uploaded(arrays)
        made = converter.laid_out(converter.rows_of(form, held), to, width)
        gpu.synchronise()
    return DeviceArrays(gpu, place, made)


class Converter:
    """Conversions of matrices of one shape, and with values and indices of one dtype, that have
    entries; on the device's present stream."""

    def __init__(
        self,
        device: GpuDevice,
        place: str,
        shape: tuple[int, int],
        values: np.dtype[Any],
        index: np.dtype[Any],
        block: int,
    ) -> None:
        """``block`` is the rows of a block of BSR, from or to which it may be converted."""
        self._gpu: Any = device
        self._place, self._shape, self._block = place, shape, block
        self._values, self._index = values, index

    def uploaded(self, arrays: Mapping[str, AnyArray]) -> dict[str, DeviceArray]:
        """The host's arrays on the device."""
        return {
            name: DeviceArray(
                self._gpu.upload(np.ascontiguousarray(array)), array.shape, array.dtype
            )
            for name, array in arrays.items()
        }

    def rows_of(self, form: Form, held: Mapping[str, DeviceArray]) -> _Rows:
        """The rows of a matrix in a format."""
        given = [held[name] for name in ARRAYS[form]]
        if form == "csr":
            return _Rows(*given)
        if form == "csc":
            return self._turned(_Rows(*given), self._shape[::-1])
        if form == "coo":
            return _Rows(given[0], given[2], self._starts(given[1], self._shape[0]))
        memory: list[Any] = [array.memory for array in given]
        if form == "hybrid":
            tail = self._starts(given[3], self._shape[0])
            memory = [*memory[:3], memory[4], tail.memory]
        if form in ("ell", "hybrid"):
            memory.insert(2, np.int32(given[0].shape[0]))
        elif form == "dia":
            memory.append(np.int32(len(given[1])))
        elif form == "jds_t":
            memory.append(np.int32(len(given[2]) - 1))
        return self._read(f"from_{form}", memory)

    def laid_out(self, rows: _Rows, form: Form, width: int | None) -> dict[str, DeviceArray]:
        """The arrays of a format; ``width`` is that of a hybrid's ELL part. Raises `InputError` for
        a format that would be nearly all padding."""
        made: tuple[DeviceArray, ...]
        if form == "csr":
            made = rows.values, rows.columns, rows.offsets
        elif form == "csc":
            turned = self._turned(rows, self._shape)
            made = turned.values, turned.columns, turned.offsets
        elif form == "coo":
            made = rows.values, self._owners(rows, self._shape[0]), rows.columns
        elif form in ("ell", "hybrid"):
            made = self._padded(rows, form, width)
        elif form in ("jds", "jds_t"):
            made = self._jagged(rows, form)
        elif form == "dia":
            made = self._diagonals(rows)
        else:
            made = self._blocks(rows)
        return dict(zip(ARRAYS[form], made, strict=True))

    # To CSR

    def _read(self, kernel: str, stored: list[Any]) -> _Rows:
        count = self._shape[0]
        lengths = self._empty((count,), self._index)
        unread = lengths.memory
        sizes = np.int64(count), np.int32(0)
        self._run(kernel, count, *stored, unread, unread, unread, unread, *sizes)
        ends = offsets_of(downloaded(self._gpu, lengths), self._index)
        offsets, entries = self._upload(ends), int(ends[-1])
        values = self._empty((entries,), self._values)
        columns = self._empty((entries,), self._index)
        made = lengths.memory, offsets.memory, values.memory, columns.memory
        self._run(kernel, count, *stored, *made, np.int64(count), np.int32(1))
        return _Rows(values, columns, offsets)

    def _turned(self, rows: _Rows, shape: tuple[int, int]) -> _Rows:
        """The transpose's rows, of a matrix of this shape: entries in the order of columns."""
        entries = len(rows.values)
        places = self._empty((entries,), np.dtype(np.int32))
        self._run("counted_up", entries, places.memory, np.int64(entries))
        keys = self._empty((entries,), self._index)
        moved = self._empty((entries,), np.dtype(np.int32))
        index: Any = self._index.name
        problem = Sort((entries,), dtype=index, gives="pairs", moves="int32")
        sort = executable(decide(problem, "ieee", self._place), self._gpu).execution(None)
        workspace = [self._gpu.allocate(nbytes) for nbytes in sort.workspace.sizes.values()]
        ends = [rows.columns.memory, places.memory, keys.memory, moved.memory]
        sort.start(ends, workspace)
        values = self._empty((entries,), self._values)
        index_of = self._empty((entries,), self._index)
        owner = self._owners(rows, shape[0])
        given = moved.memory, rows.values.memory, owner.memory, values.memory, index_of.memory
        self._run("reordered", entries, *given, np.int64(entries))
        return _Rows(values, index_of, self._starts(keys, shape[1]))

    def _starts(self, sorted_rows: DeviceArray, count: int) -> DeviceArray:
        """The index of the first entry of each of ``count`` rows, among sorted entries."""
        made, entries = self._empty((count + 1,), self._index), len(sorted_rows)
        sizes = np.int64(count), np.int64(entries)
        self._run("conversion_row_starts", count + 1, sorted_rows.memory, made.memory, *sizes)
        return made

    # From CSR

    def _owners(self, rows: _Rows, count: int) -> DeviceArray:
        entries = len(rows.values)
        made = self._empty((entries,), self._index)
        sizes = np.int64(count), np.int64(entries)
        self._run("owners", entries, rows.offsets.memory, made.memory, *sizes)
        return made

    def _moved(self, kernel: str, rows: _Rows, *arguments: Any) -> None:
        """A kernel with a thread for each entry."""
        owner = self._owners(rows, self._shape[0])
        given = rows.values, rows.columns, rows.offsets, owner
        sizes = np.int64(self._shape[0]), np.int64(len(rows.values))
        memory = [array.memory for array in given]
        self._run(kernel, len(rows.values), *arguments, *memory, *sizes)

    def _lengths(self, rows: _Rows) -> AnyArray:
        return np.diff(downloaded(self._gpu, rows.offsets))

    def _padded(self, rows: _Rows, form: Form, width: int | None) -> tuple[DeviceArray, ...]:
        lengths, count = self._lengths(rows), self._shape[0]
        if form == "ell":
            width = int(lengths.max())
        elif width is None:
            width = hybrid_width(lengths)
        check_padding(form, count, width, len(rows.values))
        values, columns = (self._zeros((width, count), d) for d in (self._values, self._index))
        beyond = offsets_of(np.maximum(lengths - width, 0), self._index)
        # No array is empty: a zero stands where the tail has no entry.
        tail = [
            self._zeros((max(1, int(beyond[-1])),), kind)
            for kind in (self._values, self._index, self._index)
        ]
        places = [array.memory for array in (values, columns, *tail, self._upload(beyond))]
        self._moved("to_padded", rows, *places, np.int32(width))
        return (values, columns) if form == "ell" else (values, columns, *tail)

    def _jagged(self, rows: _Rows, form: Form) -> tuple[DeviceArray, ...]:
        lengths = self._lengths(rows)
        order = by_length(lengths)
        places = np.empty(len(order), self._index)
        places[order] = np.arange(len(order), dtype=self._index)
        if form == "jds":
            offsets = offsets_of(lengths[order], self._index)
            starts = offsets[:-1][places]
        else:
            offsets, starts = sections_of(lengths, self._index), places
        values, columns = self._like(rows.values), self._like(rows.columns)
        listed = self._upload(offsets)
        arrays = values.memory, columns.memory, self._upload(starts).memory, listed.memory
        self._moved("to_jds", rows, *arrays, np.int32(form == "jds_t"))
        return values, columns, listed, self._upload(order.astype(self._index))

    def _diagonals(self, rows: _Rows) -> tuple[DeviceArray, ...]:
        height = self._shape[0]
        used = self._zeros((sum(self._shape),), np.dtype(np.int32))
        self._moved("used_diagonals", rows, used.memory)
        seen = downloaded(self._gpu, used) != 0
        found = np.flatnonzero(seen)
        check_padding("dia", height, len(found), len(rows.values))
        numbers = self._upload((np.cumsum(seen) - 1).astype(self._index))
        values = self._zeros((len(found), height), self._values)
        self._moved("to_dia", rows, values.memory, numbers.memory)
        return values, self._upload((found - (height - 1)).astype(self._index))

    def _blocks(self, rows: _Rows) -> tuple[DeviceArray, ...]:
        size, count = self._block, self._shape[0]
        high = -(-count // size)
        counts = self._empty((high,), self._index)
        memory = [array.memory for array in (rows.values, rows.columns, rows.offsets)]
        unread = memory[0], memory[1]
        sizes = np.int64(high), np.int32(0)
        given = (counts.memory, rows.offsets.memory, *unread, *sizes, *memory, np.int64(count))
        self._run("to_bsr", high, *given)
        ends = offsets_of(downloaded(self._gpu, counts), self._index)
        check_padding("bsr", int(ends[-1]), size * size, len(rows.values))
        starts = self._upload(ends)
        values = self._zeros((int(ends[-1]), size, size), self._values)
        columns = self._empty((int(ends[-1]),), self._index)
        made = counts.memory, starts.memory, values.memory, columns.memory
        self._run("to_bsr", high, *made, np.int64(high), np.int32(1), *memory, np.int64(count))
        return values, columns, starts

    # The device

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        return DeviceArray(self._gpu.allocate(int(np.prod(shape)) * dtype.itemsize), shape, dtype)

    def _like(self, array: DeviceArray) -> DeviceArray:
        return self._empty(array.shape, array.dtype)

    def _zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        made = self._empty(shape, dtype)
        words = made.nbytes // 2
        self._run("cleared", words, made.memory, np.int64(words))
        return made

    def _upload(self, array: AnyArray) -> DeviceArray:
        return DeviceArray(self._gpu.upload(np.ascontiguousarray(array)), array.shape, array.dtype)

    def _run(self, kernel: str, threads: int, *arguments: Any) -> None:
        grid = -(-threads // _THREADS), 1, 1
        call = Call(self._program, Launch(kernel, grid, (_THREADS, 1, 1)), arguments)
        self._gpu.launches([call], ()).start(())

    @cached_property
    def _program(self) -> Any:
        macros: dict[str, int | str] = {
            "VALUE": _TYPES[self._values.name],
            "INDEX": _TYPES[self._index.name],
            "HALVES": int(self._values == np.float16),
            "DOUBLES": int(self._values == np.float64),
            "BLOCK": self._block,
            "THREADS": _THREADS,
        }
        return self._gpu.compile(TEXT.read_text(encoding="utf-8"), macros, (HEADERS,))
