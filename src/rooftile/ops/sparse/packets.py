"""The packet format (PKT): squares about the main diagonal whose entries have local indices.

A packet has a number of neighbouring rows, and their entries whose columns have the same numbers as
the rows. Within it a row and a column are 16 bits each, packed into one word; other entries are
left to COO. In a banded matrix, or one whose rows were put into an order that groups neighbours,
little is left.

Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC 2009, section 3.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.rows import NUMPY, Rows, Sorting, of_triplets, offsets_of


@dataclass(frozen=True)
class Packets:
    """values[k] and places[k], packet by packet, and the COO of the other entries."""

    shape: tuple[int, int]
    size: int
    """Rows and columns of a packet."""
    values: AnyArray
    places: AnyArray
    """uint32: the row within the packet in the upper 16 bits, the column in the lower."""
    offsets: AnyArray
    """Each packet's first entry; and the end of the last packet."""
    tail_values: AnyArray
    tail_rows: AnyArray
    tail_columns: AnyArray


def packets_of(rows: Rows, size: int) -> Packets:
    """A matrix's entries in packets of ``size`` rows, up to 65,536."""
    owners = rows.of_entries
    packet = owners // size
    inside = packet == rows.columns // size
    count = -(-rows.shape[0] // size)
    offsets = offsets_of(np.bincount(packet[inside], minlength=count), rows.offsets.dtype)
    local = (owners[inside] % size).astype(np.uint32) << np.uint32(16)
    local |= (rows.columns[inside] % size).astype(np.uint32)
    rest = rows.values[~inside], owners[~inside], rows.columns[~inside]
    return Packets(rows.shape, size, rows.values[inside], local, offsets, *rest)


def rows_of_packets(packets: Packets, sorting: Sorting = NUMPY) -> Rows:
    """The rows that were packed."""
    return of_triplets(packets.shape, *triplets_of_packets(packets), sorting)


def triplets_of_packets(packets: Packets) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Values, rows and columns; offsets must rise from 0 to the number of values."""
    index = packets.tail_rows.dtype
    lengths = np.diff(packets.offsets)
    first = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths) * packets.size
    down = (first + (packets.places >> np.uint32(16))).astype(index)
    across = (first + (packets.places & np.uint32(0xFFFF))).astype(index)
    parts = (
        (packets.values, packets.tail_values),
        (down, packets.tail_rows),
        (across, packets.tail_columns),
    )
    values, rows, columns = (np.concatenate(part) for part in parts)
    return values, rows, columns
