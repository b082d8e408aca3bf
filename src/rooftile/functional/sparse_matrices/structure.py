"""The structure that a format's size depends on, and the formats that would be mostly padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.analysis.spmv import BLOCK, Structure
from rooftile.analysis.spmv_machines import H200, PROCESSOR, Machine
from rooftile.devices.select import parse_device
from rooftile.errors import InputError
from rooftile.ops.checks import is_whole
from rooftile.ops.sparse.layouts import hybrid_width
from rooftile.ops.sparse.rows import Form, Rows
from rooftile.strategies.common.sparse_sorting import placed

_MOST_PADDED = 64
"""A format with more places than this for each entry is refused, unless entries are few."""
_FEW = 2**14


def structure_of(rows: Rows) -> Structure:
    """The structure of a matrix."""
    height, width = rows.shape
    blocks, used = placed(rows, BLOCK)
    kept = hybrid_width(rows.lengths) if rows.entries else 1
    return Structure(
        rows=height,
        columns=width,
        entries=rows.entries,
        longest=rows.longest,
        deviation=float(np.std(rows.lengths)) if height else 0.0,
        diagonals=int(np.count_nonzero(used)),
        hybrid_width=kept,
        tail=int(np.maximum(rows.lengths - kept, 0).sum()),
        blocks=blocks,
        triangular=not used[height + 1 :].any() or not used[:height].any(),
        value_bytes=rows.values.dtype.itemsize,
        index_bytes=rows.columns.dtype.itemsize,
    )


def machine_of(device: str) -> Machine:
    """The machine by whose rates formats are chosen for a device."""
    return PROCESSOR if parse_device(device)[0] == "cpu" else H200


def check_sizes(width: Any, block: Any) -> None:
    """Raise `InputError` for a hybrid's width, or a size of blocks, that is none."""
    for name, count in (("width", 1 if width is None else width), ("block", block)):
        if not is_whole(count) or count < 1:
            raise InputError(name, repr(count), "a whole number of at least 1")


def check_chosen(form: Form, rows: Rows, width: int | None, block: int) -> None:
    """`check_padding` of a hybrid, or of blocks, of a size that somebody chose."""
    if form == "hybrid" and width is not None:
        check_padding(form, rows.shape[0], width, rows.entries)
    elif form == "bsr" and block * block > _MOST_PADDED:
        # Every block has an entry, so that smaller ones are never nearly all padding.
        count, _ = placed(rows, block)
        check_padding(form, count, block * block, rows.entries)


def check_padding(form: Form, rows: int, width: int, entries: int) -> None:
    """Raise `InputError` for a format that would be nearly all padding: ``width`` is how many
    places it has for each row."""
    stored = rows * width
    if stored > _MOST_PADDED * max(_FEW, entries):
        expected = f"another: it would store {stored} values for {entries} entries"
        raise InputError("format", repr(form), expected)
