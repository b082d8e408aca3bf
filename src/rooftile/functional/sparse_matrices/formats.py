"""Formats that no product is computed in, and which format a sequence of values can be of."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.errors import InputError
from rooftile.functional.sparse_matrices.given import check_offsets, on_host, rows_from
from rooftile.functional.sparse_matrices.matrix import Sparse
from rooftile.ops.checks import is_whole
from rooftile.ops.sparse.packets import Packets, packets_of, triplets_of_packets
from rooftile.ops.sparse.rows import FORMS
from rooftile.runtime.calls.plain import plain


@plain
def identify(matrix: Sparse, values: Any) -> list[str]:
    """The formats whose array of values can be this one.

    COO may have any order; ELL may leave out rows without an entry.  A format that would be nearly
    all padding is not among them.  Raises `InputError` for a matrix that is none of `sparse`.
    """
    _check(matrix)
    given = on_host("values", values).reshape(-1)
    found: list[str] = []
    for form in FORMS:
        if form == "coo":
            same = np.array_equal(np.sort(given), np.sort(matrix.rows.values))
        else:
            try:
                made = matrix.to(form).arrays["values"]
            except InputError:
                continue
            some = made[:, matrix.rows.lengths > 0] if form == "ell" else made
            same = any(np.array_equal(given, one.reshape(-1)) for one in (made, some))
        if same:
            found.append(form)
    return found


@plain
def to_packets(matrix: Sparse, size: int = 256) -> Packets:
    """The matrix in the packet format, see `rooftile.ops.sparse.packets`.

    Raises `InputError` for another matrix, and a size of packets that 16 bits do not hold.
    """
    _check(matrix)
    if not is_whole(size) or not 1 <= size <= 2**16:
        raise InputError("size", repr(size), "rows of a packet, from 1 to 65536")
    return packets_of(matrix.rows, size)


@plain
def from_packets(packets: Packets) -> Sparse:
    """The matrix that `to_packets` has packed, in CSR.

    Raises `InputError` for places or offsets that no matrix of this shape has.
    """
    if not isinstance(packets, Packets):
        raise InputError("packets", f"a {type(packets).__name__}", "packets of rooftile.to_packets")
    count = -(-packets.shape[0] // packets.size)
    check_offsets(packets.offsets, count, len(packets.values))
    values, down, across = triplets_of_packets(packets)
    rows = rows_from((values, (down, across)), packets.shape, None, packets.tail_rows.dtype.name)
    arrays = {"values": rows.values, "column_index": rows.columns, "row_offsets": rows.offsets}
    return Sparse._made(rows.shape, "csr", arrays, rows.entries)


def _check(matrix: Any) -> None:
    if not isinstance(matrix, Sparse):
        raise InputError("matrix", f"a {type(matrix).__name__}", "a matrix of rooftile.sparse")
