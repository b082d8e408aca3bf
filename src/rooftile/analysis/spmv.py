"""The format in which a sparse matrix's product with a vector is fastest.

The product reads each stored number once, each element of x once (it stays in a cache), and writes
y. A format is as fast as its padding is little, its indices are few, and its neighbours in a warp
read neighbours. The share of its bandwidth that a machine's kernels reach is measured once for all
matrices: a format is chosen by arithmetic, and not by trying.

Sources: PMPP, chapter 14; Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on
Throughput-Oriented Processors", SC 2009.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rooftile.analysis.spmv_machines import H200, Machine
from rooftile.errors import InputError
from rooftile.ops.sparse.rows import FORMS, Form

SECTOR_BYTES = 32
"""The smallest transfer of a GPU's memory."""
BLOCK = 4
"""Rows and columns of BSR's blocks here."""


@dataclass(frozen=True)
class Structure:
    """The positions of a matrix's entries, as far as a format's size depends on them."""

    rows: int
    columns: int
    entries: int
    longest: int
    """Entries of the longest row."""
    deviation: float
    """The standard deviation of the rows' lengths."""
    diagonals: int
    """Diagonals with an entry."""
    hybrid_width: int
    """Entries of a row that a hybrid's ELL part takes."""
    tail: int
    """Entries that are left for its COO part."""
    blocks: int
    """Squares of `BLOCK` rows and columns with an entry."""
    triangular: bool
    """True if all entries above, or all below, the main diagonal are zero."""
    value_bytes: int = 4
    index_bytes: int = 4

    @property
    def uneven(self) -> bool:
        """True if the longest row has over twice an average row's entries."""
        return self.longest * self.rows > 2 * self.entries

    @property
    def vector_bytes(self) -> int:
        """Of an element of x and of y."""
        return max(4, self.value_bytes)


@dataclass(frozen=True)
class Estimate:
    """Traffic and time of a product in a format."""

    form: Form
    bytes: int
    ms: float
    why: str


def stored_bytes(of: Structure, form: Form) -> int:
    """Bytes of a format's arrays."""
    value, index, entries = of.value_bytes, of.index_bytes, of.entries
    both = value + index
    lists = entries * both + (of.rows + 1) * index
    sizes: dict[Form, Callable[[], int]] = {
        "coo": lambda: entries * (both + index),
        "csr": lambda: lists,
        "csc": lambda: entries * both + (of.columns + 1) * index,
        "ell": lambda: of.rows * of.longest * both,
        "hybrid": lambda: of.rows * of.hybrid_width * both + of.tail * (both + index),
        "jds": lambda: lists + of.rows * index,
        "jds_t": lambda: entries * both + (of.longest + 1 + of.rows) * index,
        "dia": lambda: of.rows * of.diagonals * value + of.diagonals * index,
        "bsr": lambda: (
            of.blocks * (BLOCK * BLOCK * value + index) + (-(-of.rows // BLOCK) + 1) * index
        ),
    }
    return sizes[form]()


def moved_bytes(of: Structure, form: Form) -> int:
    """Bytes that a product moves: the format's arrays, x, y, and y again where it is scattered.

    A row of jagged diagonals is written where its permutation says: a whole sector for one element.
    What is added by atomics is cleared before, and read and written by each of them.
    """
    vectors = (of.rows + of.columns) * of.vector_bytes
    scattered = {
        "jds": of.rows * (SECTOR_BYTES - of.vector_bytes),
        "jds_t": of.rows * (SECTOR_BYTES - of.vector_bytes),
        "csc": of.entries * 2 * SECTOR_BYTES,
        "hybrid": min(of.tail, of.rows) * 2 * SECTOR_BYTES,
    }
    return stored_bytes(of, form) + vectors + scattered.get(form, 0)


def stored_numbers(of: Structure, form: Form) -> int:
    """Values that a product multiplies, padding with them."""
    padded: dict[Form, int] = {
        "ell": of.rows * of.longest,
        "hybrid": of.rows * of.hybrid_width + of.tail,
        "dia": of.rows * of.diagonals,
        "bsr": of.blocks * BLOCK * BLOCK,
    }
    return padded.get(form, of.entries)


def gathered_bytes(of: Structure) -> int:
    """Bytes of x that caches serve beyond the first read: a sector for each square of `BLOCK` rows
    and columns, or, where entries are on few diagonals, for each 16 of them, since neighbours read
    neighbours."""
    on_diagonals = of.rows * of.diagonals
    if on_diagonals <= 2 * of.entries:
        return min(of.blocks, on_diagonals // 16) * SECTOR_BYTES
    return of.blocks * SECTOR_BYTES


def predicted_us(of: Structure, form: Form, machine: Machine) -> float:
    """Microseconds of a product, of a matrix that was multiplied before.

    Memory gives the format's bytes, or a cache that holds them; caches give x again and again; and
    a kernel has a largest rate of entries. The longest of these counts, plus the time of rows, and
    of a thread that has the longest row alone.
    """
    pace, moved = machine.paces[pace_of(of, form, machine)], moved_bytes(of, form)
    cached = (moved + gathered_bytes(of)) / machine.cached_gbps / pace.of_cache
    beyond = moved > machine.cache_bytes
    memory = moved / machine.gbps / pace.of_memory if beyond else 0.0
    working = stored_numbers(of, form) / pace.entries
    alone = of.longest * pace.entry_us if of.uneven else 0.0
    rows = of.rows * pace.row_ns
    return pace.start_us + alone + 1e-3 * (rows + max(memory, cached, working))


def pace_of(of: Structure, form: Form, machine: Machine) -> str:
    """The name of the pace that a format has with such a matrix."""
    uneven = f"{form}, uneven"
    return uneven if of.uneven and uneven in machine.paces else form


def fastest(of: Structure, machine: Machine) -> Form:
    """The format whose product is predicted to be the fastest; the simplest of several."""
    return min(FORMS, key=lambda form: predicted_us(of, form, machine))


def estimates(
    of: Structure, gbps: float | None = None, machine: Machine | None = None
) -> list[Estimate]:
    """Traffic and time of a product in each format, the fastest first.

    ``machine`` is by default `H200`; ``gbps`` is another bandwidth than the machine's, to which all
    of its rates are scaled.  Raises `InputError` for a bandwidth that is not above 0.
    """
    machine = H200 if machine is None else machine
    if gbps is not None and not (_is_number(gbps) and gbps > 0):
        raise InputError("gbps", repr(gbps), "a bandwidth above 0")
    scale = 1.0 if gbps is None else machine.gbps / gbps
    words = _words(of)
    found = [
        Estimate(
            form,
            moved_bytes(of, form),
            1e-3 * scale * predicted_us(of, form, machine),
            words[form],
        )
        for form in FORMS
    ]
    # Where two take as long, the one that is listed first is the simpler one.
    return sorted(found, key=lambda one: one.ms)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _words(of: Structure) -> dict[Form, str]:
    entries = max(1, of.entries)
    slots = of.rows * of.longest
    return {
        "coo": "two indices an entry, whatever the rows' lengths are",
        "csr": "one index an entry, and where each row begins",
        "csc": "every entry is added to an element of y, which others may add to",
        "ell": f"{slots / entries:.3g} places an entry: rows are padded to {of.longest}",
        "hybrid": f"rows are padded to {of.hybrid_width}, and {of.tail} entries have two indices",
        "jds": "rows in the order of their lengths, each read in one go",
        "jds_t": "no padding, and neighbours read neighbours; y is written in another order",
        "dia": f"{of.rows * of.diagonals / entries:.3g} places an entry in {of.diagonals} "
        "diagonals, and no indices",
        "bsr": f"{of.blocks * BLOCK * BLOCK / entries:.3g} places an entry in blocks of {BLOCK}, "
        "one index a block",
    }


def rule_of_thumb(of: Structure) -> tuple[Form, str]:
    """The format that the textbook's rules name, and why.

    They look at lengths and not at bytes: of a banded matrix they take ELL where DIA needs no
    indices, of random rows ELL where one long row pads all, and they know neither blocks nor
    products of CSR that share out entries instead of rows.
    """
    mean = of.entries / max(1, of.rows)
    if of.entries < of.rows:
        return "coo", "hardly any entries: rows would cost more than entries"
    if of.triangular and of.diagonals > of.rows // 2:
        return "jds", "triangular: lengths fall from row to row"
    if of.diagonals <= 2 * of.longest:
        return "ell", "banded: rows have one length"
    if of.deviation > mean:
        return "hybrid", "lengths vary much: the longest rows would pad all others"
    return "ell", "random: lengths vary little"


def described(
    of: Structure, gbps: float | None = None, machine: Machine | None = None
) -> list[str]:
    """A line for each format, the fastest first, and the rule of thumb."""
    lines = [
        f"{one.form:>7}: {one.bytes / 1e6:.4g} MB, {one.ms:.3g} ms: {one.why}"
        for one in estimates(of, gbps, machine)
    ]
    form, why = rule_of_thumb(of)
    return [*lines, f"rule of thumb: {form}: {why}"]
