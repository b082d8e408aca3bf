"""`histogram`: the number of an array's elements in each of many bins.

Bin i holds elements from edge i up to edge i + 1; the last bin holds its upper edge too. Elements
in no bin, NaN included, are left out. Edges are even or given. With weights, a bin holds the sum of
its elements' weights instead.

An element and an edge are compared in float64, as NumPy compares them; two integers exactly.

Source: PMPP, chapter 9.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.fields import LATER
from rooftile.ops.operator import limits
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, Float64, Problem, numpy_dtype

EDGES: dict[Dtype, tuple[Dtype, ...]] = {
    **dict.fromkeys(("float32", "float16", "bfloat16"), ("float32", "float64")),
    "float64": ("float64",),
    **dict.fromkeys(
        ("int32", "int16", "int8", "uint16", "uint8", "bool"), ("int32", "int64", "float64")
    ),
    **dict.fromkeys(("int64", "uint32"), ("int64", "float64")),
    "uint64": ("uint64", "float64"),
}
"""Dtypes that edges may have, by that of elements; the first one where nothing else is said."""
MOST_BINS = 2**22
_SHRUNK = 2**20
_BEYOND = 0.05
"""Random elements lie up to so much of the range beyond it, on either side."""


@dataclass(frozen=True)
class Histogram(Problem):
    """counts[bins] of x[count], int64; or sums[bins] of weights[count], float32 or float64.

    Without ``edges`` the bins have one width and share out the range from ``low`` to ``high``,
    as `numpy.linspace` does: in float64, rounded to x's dtype where that is one of floating point.
    With them the problem has an array edges[bins + 1], which rises, of ``edge_dtype``, one of
    `EDGES`.  ``sums`` is the dtype of weights and of their sums.
    Raises `InputError` for sizes below 1, more bins than 2^22, another dtype, a range that is
    empty or not finite, or whose ends x's dtype does not have.
    """

    operation: ClassVar[str] = "histogram"
    words: ClassVar[str] = (
        "{count} {dtype} in {bins} bins{edges? between edges|}{weighted?, weighted|}"
    )

    count: int
    bins: int = field(default=256, metadata=SIZE)
    low: float = field(default=0.0, metadata=SIZE)
    high: float = field(default=256.0, metadata=SIZE)
    dtype: Dtype = "uint8"
    edges: bool = False
    weighted: bool = False
    edge_dtype: Dtype | None = field(default=None, metadata=LATER)
    sums: Literal["float32", "float64"] = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(count=self.count, bins=self.bins)
        if self.bins > MOST_BINS:
            raise InputError("bins", self.bins, f"at most {MOST_BINS}")
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")
        ends = float(self.low), float(self.high)
        if not (math.isfinite(ends[1] - ends[0]) and ends[0] < ends[1]):
            raise InputError("range", ends, "two finite numbers, the first below the second")
        if self.real and any(rounded(end, self.dtype) != end for end in ends):
            raise InputError("range", ends, f"numbers that {self.dtype} has, for x of {self.dtype}")
        if self.edge_dtype not in (None, *EDGES[self.dtype]):
            expected = f"one of {list(EDGES[self.dtype])}, for x of {self.dtype}"
            raise InputError("edge_dtype", repr(self.edge_dtype), expected)
        if self.sums not in ("float32", "float64"):
            raise InputError("sums", repr(self.sums), "'float32' or 'float64'")

    @property
    def real(self) -> bool:
        """True if elements are floating-point numbers."""
        return self.dtype.startswith(("float", "bfloat"))

    @property
    def bound(self) -> Dtype:
        """The dtype of edges that are given."""
        return self.edge_dtype or EDGES[self.dtype][0]

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[count], edges[bins + 1] and weights[count] where there are any; counts or sums."""
        found = [Array("x", (self.count,), self.dtype)]
        if self.edges:
            found.append(Array("edges", (self.bins + 1,), self.bound))
        if self.weighted:
            found.append(Array("weights", (self.count,), self.sums))
            found.append(Array("sums", (self.bins,), self.sums, role="output"))
        else:
            found.append(Array("counts", (self.bins,), "int64", role="output"))
        return tuple(found)

    @property
    def reduction(self) -> int:
        """Elements that one bin may hold."""
        return self.count

    @property
    def flops(self) -> int:
        """One addition for each element."""
        return self.count

    @property
    def even_edges(self) -> Float64:
        """The edges of bins of one width, as elements are compared with them."""
        edges = np.linspace(float(self.low), float(self.high), self.bins + 1)
        return edges.astype(numpy_dtype(self.dtype)).astype(np.float64) if self.real else edges

    @property
    def unit(self) -> bool:
        """True if every bin holds one integer (the last one two)."""
        whole = float(self.low).is_integer() and self.high - self.low == self.bins
        return whole and not self.edges and not self.real

    def reference(self, *arrays: AnyArray) -> AnyArray:
        """The counts, or sums in float64; of float64 in a wider type."""
        return self._summed(arrays, self._wide(arrays[-1]) if self.weighted else None)

    def magnitude(self, *arrays: AnyArray) -> AnyArray:
        """The sums of the weights' magnitudes."""
        return self._summed(arrays, np.abs(self._wide(arrays[-1])) if self.weighted else None)

    def _wide(self, weights: AnyArray) -> AnyArray:
        return weights.astype(np.longdouble if self.sums == "float64" else np.float64)

    def _summed(self, arrays: Sequence[AnyArray], weights: AnyArray | None) -> AnyArray:
        x, edges = arrays[0], arrays[1] if self.edges else self.even_edges
        if edges.dtype.kind == "f":
            x, edges = x.astype(np.float64), edges.astype(np.float64)
        found = np.searchsorted(edges, x, side="right") - 1
        found[x == edges[-1]] = self.bins - 1
        inside = (found >= 0) & (found < self.bins)
        if weights is None:
            return np.bincount(found[inside], minlength=self.bins).astype(np.int64)
        made = np.zeros(self.bins, weights.dtype)
        np.add.at(made, found[inside], weights[inside])
        return made

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Elements in every bin and beyond them; edges that rise."""
        generator = np.random.default_rng(seed)
        x = self._elements(generator)
        return (x, *self._edges(generator), *self._weights(generator))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Elements that are all equal, that are in few bins, or on edges and next to them."""
        generator = np.random.default_rng(seed)
        some = self._elements(generator)
        edges, weights = self._edges(generator), self._weights(generator)
        few = np.where(generator.random(self.count) < 0.9, some[0], some)
        found = {"ties": np.full_like(some, some[0]), "skewed": few}
        given = edges[0] if edges else self.even_edges
        found["edges"] = self._as_elements(generator.choice(given, self.count))
        if self.real:
            away = generator.choice(np.array([-np.inf, np.inf]), self.count).astype(some.dtype)
            found["next to edges"] = np.nextafter(found["edges"], away)
            found["special"] = some.copy()
            places = generator.integers(0, self.count, 1 + self.count // 40)
            found["special"][places] = generator.choice([np.nan, np.inf, -np.inf], places.size)
        return {name: (x, *edges, *weights) for name, x in found.items()}

    def _elements(self, generator: np.random.Generator) -> AnyArray:
        more = _BEYOND * (self.high - self.low)
        low, high = self.low - more, self.high + more
        dtype = numpy_dtype(self.dtype)
        if self.real:
            return generator.uniform(low, high, self.count).astype(dtype)
        least, most = limits(self.dtype)
        first, last = max(least, math.floor(low)), min(most, math.ceil(high))
        if self.dtype == "uint8" or first > last:
            first, last = least, most
        return generator.integers(first, last, self.count, dtype, endpoint=True)

    def _as_elements(self, values: AnyArray) -> AnyArray:
        """The values in x's dtype; values beyond an integer dtype's range become its ends."""
        dtype = numpy_dtype(self.dtype)
        if self.real or values.dtype.kind != "f":
            least, most = (-np.inf, np.inf) if self.real else limits(self.dtype)
            return (values if self.real else np.clip(values, least, most)).astype(dtype)
        least, most = limits(self.dtype)
        top = float(most) if int(float(most)) == most else np.nextafter(float(most), 0)
        return np.clip(values, float(least), top).astype(dtype)

    def _edges(self, generator: np.random.Generator) -> tuple[AnyArray, ...]:
        if not self.edges:
            return ()
        edges = np.sort(generator.uniform(self.low, self.high, self.bins + 1))
        return (edges.astype(self.bound),)

    def _weights(self, generator: np.random.Generator) -> tuple[AnyArray, ...]:
        return (generator.standard_normal(self.count).astype(self.sums),) if self.weighted else ()

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        if self.edges and which == 1:
            edges = arrays[1].copy()
            place = int(np.random.default_rng(seed).integers(self.bins + 1))
            edges[place:] += np.asarray(1, edges.dtype)
            return (arrays[0], edges, *arrays[2:])
        if which == 0:
            x = arrays[0].copy()
            place = int(np.random.default_rng(seed).integers(self.count))
            x[place] = self._other(x[place], arrays)
            return (x, *arrays[1:])
        return super().altered(arrays, which, seed)

    def _other(self, value: Any, arrays: Sequence[AnyArray]) -> Any:
        """An element of another bin, the first or the last."""
        edges = arrays[1] if self.edges else self.even_edges
        middle = (float(edges[0]) + float(edges[-1])) / 2
        # What counts in the last bin: its upper edge, unless that is no element.
        wanted = edges[-1:] if float(value) < middle else edges[:1]
        return self._as_elements(wanted)[0]

    def shrunk(self) -> Histogram:
        return dataclasses.replace(self, count=min(self.count, _SHRUNK))

    def neighbours(self) -> tuple[Histogram, ...]:
        return (
            dataclasses.replace(self, count=10_007),
            dataclasses.replace(self, count=131, bins=max(1, self.bins // 3)),
            dataclasses.replace(self, count=5_003, bins=self.bins + 1),
        )

    def smallest(self) -> tuple[Histogram, ...]:
        one = dataclasses.replace(self, count=1)
        return one, dataclasses.replace(one, bins=1)


def rounded(number: float, dtype: Dtype) -> float:
    """A number as a dtype of floating point has it."""
    with np.errstate(over="ignore"):
        return float(numpy_dtype(dtype).type(number))


NAMED = {
    "bytes-10^6": Histogram(10**6),
    "bytes-10^8": Histogram(10**8),
    "bytes-2^28": Histogram(2**28),
    "floats-10^7": Histogram(10**7, 256, 0.0, 1.0, "float32"),
    "floats-10^8": Histogram(10**8, 256, 0.0, 1.0, "float32"),
    "floats-2^28": Histogram(2**28, 256, 0.0, 1.0, "float32"),
    "prices-10^7": Histogram(10**7, 2**18, 0.0, 2.0**18, "int32"),
}
LARGE = Climbed.of("bytes-10^8")
