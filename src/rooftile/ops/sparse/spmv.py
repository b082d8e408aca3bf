"""`spmv`: a sparse matrix times a vector, ``y = A x`` or ``y = alpha A x + beta y``.

Each format has arrays of its own (`rooftile.ops.sparse.rows`), and strategies of its own. A
transposed product is that of the transpose: CSR's arrays are the transpose's CSC.

Sources: PMPP, chapter 14; Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on
Throughput-Oriented Processors", SC 2009.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.draws import Draw
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import CASES, AnyArray, Array, Dtype, Problem
from rooftile.ops.sparse import generated as patterns
from rooftile.ops.sparse.families import families
from rooftile.ops.sparse.generated import PATTERNS, Pattern
from rooftile.ops.sparse.layouts import laid_out
from rooftile.ops.sparse.reading import triplets
from rooftile.ops.sparse.rows import ARRAYS, FORMS, Form, Rows, shapes_of
from rooftile.ops.sparse.tiles import tile_rows, tiles_of

DTYPES: tuple[Dtype, ...] = ("float32", "float16", "float64")
"""Dtypes of the matrix's values; x and y are float32, or float64 with float64."""
_SHRUNK = 2**19
"""Entries of the problem that a slow strategy's rate is estimated from."""
_SIZED: tuple[Form, ...] = ("ell", "hybrid", "jds_t", "dia", "bsr")
"""Formats whose arrays depend on `Spmv.width`."""


_EVEN = ("even", "banded", "grid", "blocks")
"""Patterns whose rows have about as many entries each."""


@dataclass(frozen=True)
class Spmv(Problem):
    """A format's arrays of a matrix [rows][columns], x[columns] and y[rows].

    Raises `InputError` for sizes that do not belong together, unknown words, and indices of 32 bits
    that do not reach.
    """

    operation: ClassVar[str] = "spmv"
    words: ClassVar[str] = (
        "a matrix of {rows} x {columns} with {entries} entries ({pattern}) as {form}"
    )

    rows: int
    columns: int
    entries: int
    form: Form = "csr"
    dtype: Literal["float32", "float16", "float64"] = "float32"
    index: Literal["int32", "int64"] = "int32"
    updated: bool = False
    """True if y is ``alpha A x + beta start``, with alpha[1], beta[1] and start[rows] as inputs."""
    width: int = field(default=0, metadata=SIZE)
    """Entries of the longest row, which ELL and hybrid (in its ELL part) pad to, and which are the
    sections of transposed JDS; diagonals of DIA; blocks of BSR.  0, where the format does not need
    it: it is not known."""
    tail: int = field(default=0, metadata=SIZE)
    """Entries of a hybrid's COO part."""
    block: int = field(default=0, metadata=SIZE)
    """Rows and columns of a block of BSR."""
    pattern: Pattern = field(default="random", metadata=SIZE)
    """The positions of the entries of `random`; they change no kernel."""
    tiled: bool = False
    """True if CSR comes with `rooftile.ops.sparse.tiles.tile_rows`."""

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, columns=self.columns, entries=self.entries)
        words = {"form": FORMS, "dtype": DTYPES, "index": ("int32", "int64"), "pattern": PATTERNS}
        for name, known in words.items():
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)
        if self.form in _SIZED:
            check_positive(width=self.width)
        if self.form == "hybrid":
            check_positive(tail=self.tail)
        if self.form == "bsr":
            check_positive(block=self.block)
        if self.tiled and self.form != "csr":
            raise InputError("tiled", f"with {self.form}", "False: tiles are CSR's")
        if self.index == "int32" and max(a.size for a in self.arrays) >= 2**31:
            raise InputError("index", "int32", "int64: there are 2^31 elements or more")

    @property
    def summed(self) -> Literal["float32", "float64"]:
        """The dtype of x, y and of the sums."""
        return "float64" if self.dtype == "float64" else "float32"

    @property
    def even(self) -> bool:
        """True if the longest row is known and has at most twice an average row's entries."""
        return 0 < self.width * self.rows <= 2 * self.entries

    @property
    def case(self) -> str:
        """See `Problem.case`: the format, and of compressed rows whether they differ in length."""
        even = " even" if self.form == "csr" and self.pattern in _EVEN else ""
        return f"{self.form} {CASES.get(self.dtype, 'integers')}{even}"

    @cached_property
    def matrix_arrays(self) -> tuple[Array, ...]:
        """The arrays of the matrix, as `ARRAYS` names them, and where tiles begin."""
        shape = self.rows, self.columns
        given = shapes_of(self.form, shape, self.entries, self.width, self.tail, self.block)
        shapes = dict(zip(ARRAYS[self.form], given, strict=True))
        if self.tiled:
            shapes["tile_rows"] = (tiles_of(self.rows, self.entries) + 1,)
        return tuple(
            Array(name, shape, self.dtype if name.endswith("values") else self.index)
            for name, shape in shapes.items()
        )

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The matrix's arrays, x, where it is updated alpha, beta and start, and y."""
        kind = self.summed
        more = (
            (
                Array("alpha", (1,), kind),
                Array("beta", (1,), kind),
                Array("start", (self.rows,), kind),
            )
            if self.updated
            else ()
        )
        x = Array("x", (self.columns,), kind)
        return (*self.matrix_arrays, x, *more, Array("y", (self.rows,), kind, role="output"))

    def draw(self, draw: Draw) -> Spmv:
        return Spmv(**draw.matrix(), tiled=draw.flip(0.5))

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each entry, and three for each element updated."""
        return 2 * self.entries + (3 * self.rows if self.updated else 0)

    def reference(self, *arrays: AnyArray) -> AnyArray:
        """Row by row, in float64."""
        stored, x, more = self._split(arrays)
        values, rows, columns = self._triplets(stored)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = values.astype(np.float64) * x[columns].astype(np.float64)
            sums = np.bincount(rows, terms, self.rows)
            if not more:
                return sums
            alpha, beta, start = (np.asarray(part, np.float64) for part in more)
            return np.asarray(alpha * sums + beta * start)

    def magnitude(self, *arrays: AnyArray) -> AnyArray:
        """The terms' magnitudes times the root of their number: no two rows have one budget."""
        stored, _, _ = self._split(arrays)
        _, rows, _ = self._triplets(stored)
        count = np.bincount(rows, minlength=self.rows) + 1.0
        floats = (np.abs(a) if a.dtype.kind == "f" else a for a in arrays)
        return np.asarray(self.reference(*floats) * np.sqrt(count))

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """`magnitude` knows the lengths of rows."""
        return Budget(1)

    def _split(self, arrays: Sequence[AnyArray]) -> tuple[Mapping[str, AnyArray], Any, list[Any]]:
        """The matrix's arrays by name, x, and alpha, beta and start where there are any."""
        names = [array.name for array in self.matrix_arrays]
        x, *more = arrays[len(names) :]
        return dict(zip(names, arrays, strict=False)), x, more

    def _triplets(self, stored: Mapping[str, AnyArray]) -> tuple[AnyArray, AnyArray, AnyArray]:
        values, rows, columns = triplets(self.form, stored)
        if self.form not in ("dia", "bsr"):
            return values, rows, columns
        inside = (columns >= 0) & (columns < self.columns) & (rows < self.rows)
        return values[inside], rows[inside], columns[inside]

    # Inputs

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.random`: a matrix of the pattern, in the problem's format."""
        generator = np.random.default_rng(seed)
        vectors = self.arrays[len(self.matrix_arrays) : -1]
        floats = (patterns.values_of(a.size, a.dtype, generator) for a in vectors)
        return (*self._matrix(generator), *floats)

    def _matrix(self, generator: np.random.Generator) -> tuple[AnyArray, ...]:
        if self.pattern == "random" and self.form in ("dia", "bsr"):
            shape, kinds = (self.rows, self.columns), (self.dtype, self.index, generator)
            if self.form == "dia":
                return patterns.some_diagonals(shape, self.width, *kinds)
            return patterns.some_blocks(shape, self.width, self.block, *kinds)
        if self.form == "csc" and self.pattern == "random":
            # Its arrays are the transpose's rows.
            rows = self._random_rows(self.columns, self.rows, generator)
            return rows.values, rows.columns, rows.offsets
        width = self.width if self.form in ("ell", "hybrid") else None
        made = laid_out(self._rows(generator), self.form, width=width, block=self.block or 4)
        if self.tiled:
            made["tile_rows"] = tile_rows(made["row_offsets"])
        return tuple(made[array.name] for array in self.matrix_arrays)

    def _rows(self, generator: np.random.Generator) -> Rows:
        shape = self.rows, self.columns
        if self.pattern == "random":
            return self._random_rows(*shape, generator)
        kinds = (self.dtype, self.index, generator)
        return patterns.rows_of(self.pattern, shape, self.entries, self.block or 4, *kinds)

    def _random_rows(self, count: int, across: int, generator: np.random.Generator) -> Rows:
        given = self.entries - self.tail
        full = self.form in ("ell", "hybrid", "jds_t")
        lengths = patterns.lengths_of(count, given, self.width, generator, full=full)
        if self.form == "hybrid":
            longest = np.flatnonzero(lengths == self.width)
            lengths[longest] += patterns.even_lengths(len(longest), self.tail)
        return patterns.rows_with(lengths, across, self.dtype, self.index, generator)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Hard numbers where entries are; a matrix whose rows are empty but for one."""
        given = self.random(seed)
        made = {
            kind: tuple(
                _where(old != 0, new) if old.dtype.kind == "f" else old
                for old, new in zip(given, arrays, strict=True)
            )
            for kind, arrays in super().hard(seed).items()
            if kind != "ties"
        }
        if self.form == "csr":
            offsets = np.zeros_like(given[2])
            offsets[self.rows // 2 + 1 :] = self.entries
            tiles = (tile_rows(offsets),) if self.tiled else ()
            made["one row has all entries"] = (
                *given[:2],
                offsets,
                *tiles,
                *given[3 + len(tiles) :],
            )
        return made

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        if arrays[which].dtype.kind == "f":
            changed = arrays[which].copy()
            flat = changed.reshape(-1)
            places = np.flatnonzero(flat)
            if places.size:
                flat[np.random.default_rng(seed).choice(places)] += 4
            return (*arrays[:which], changed, *arrays[which + 1 :])
        count = len(self.matrix_arrays)
        return (*self.random(seed)[:count], *arrays[count:])

    def shrunk(self) -> Spmv:
        share = max(1, self.entries // _SHRUNK)
        if share == 1:
            return self
        sizes = (self.rows, self.columns, self.entries, self.tail, self.width)
        rows, columns, entries, tail, blocks = (-(-size // share) for size in sizes)
        width = self.width if self.form == "dia" else min(self.width, entries)
        return dataclasses.replace(
            self,
            rows=rows,
            columns=columns,
            entries=entries,
            tail=tail,
            width=blocks if self.form == "bsr" else width,
            pattern="random",
        )

    def neighbours(self) -> tuple[Spmv, ...]:
        sizes = ((997, 211, 10_007), (61, 1031, 2003), (1009, 1013, 17))
        return tuple(self._near(*numbers) for numbers in sizes)

    def smallest(self) -> tuple[Spmv, ...]:
        return (self._near(1, 1, 1),)

    def _near(self, rows: int, columns: int, entries: int) -> Spmv:
        """The same kind of problem, with any pattern."""
        width, tail, block = 0, 0, 0
        if self.form in ("ell", "jds_t", "hybrid"):
            average = -(-entries // rows)
            width = average if self.form == "hybrid" else min(3 * average, entries)
        if self.form == "hybrid":
            tail = max(1, entries // 5)
            entries += max(0, tail + width - entries)
        if self.form == "dia":
            width = min(7, rows + columns - 1)
        if self.form == "bsr":
            block = self.block
            width = -(-entries // (block * block))
        return Spmv(
            *(rows, columns, entries, self.form, self.dtype, self.index, self.updated),
            *(width, tail, block),
            tiled=self.tiled,
        )


def _where(some: AnyArray, values: AnyArray) -> AnyArray:
    """The values there, each of which stays an entry, and zeros elsewhere."""
    least = np.finfo(values.dtype).smallest_subnormal
    with np.errstate(invalid="ignore"):
        return np.where(some, np.where(values == 0, least, values), np.zeros_like(values))


def _made(fields: Mapping[str, Any]) -> dict[str, Spmv]:
    return {name: Spmv(**values) for name, values in fields.items()}


NAMED = {
    **_made(families(2**16, 512, 2_000, "-small")),
    **_made(families(2**20, 4096, 20_000, "")),
    "entries-10^7": Spmv(100_000, 100_000, 10**7, pattern="even", width=100),
    "entries-10^7-long": Spmv(10**6, 10**6, 10**7, pattern="even", width=10),
}
"""The families of matrices of 2^20 rows (the grid has 4096^2), and small ones of 2^16 (512^2); ten
million entries, with a vector that a core's cache holds, and with a longer one."""
_FORMS = ("csr", "coo", "csc", "ell", "hybrid", "jds", "jds_t", "dia", "bsr")
TEXTBOOK = Climbed.of(*(f"banded-small-{form}" for form in _FORMS))
LARGE = Climbed.of(*(f"banded-{form}" for form in _FORMS))
