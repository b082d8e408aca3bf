"""`histogram`: how many elements of an array lie in each of many bins.

Bin i holds what lies from edge i up to edge i + 1; the last bin holds its upper edge too.  What
lies in no bin, NaN included, is left out.  Edges are even or given.  With weights, a bin holds the
sum of its elements' weights instead.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 9.
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
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.problem import AnyArray, Array, Float64, Problem, check_positive

Counted = Literal["uint8", "int32", "float32"]
DTYPES: tuple[Counted, ...] = ("uint8", "int32", "float32")
MOST_BINS = 2**22
_SHRUNK = 2**20
"""Elements of the problem that a slow strategy's rate is estimated from."""
_BEYOND = 0.05
"""Random elements lie up to so much of the range beyond it, on either side."""


@dataclass(frozen=True)
class Histogram(Problem):
    """counts[bins] of x[count], int64; or sums[bins] of weights[count], float32.

    Without ``edges`` the bins have one width and share out the range from ``low`` to ``high``,
    as `numpy.linspace` does: in float64, rounded to float32 for elements of float32.  With them
    the problem has an array edges[bins + 1], which rises, of float32 or int32.
    Raises `InputError` for sizes below 1, more bins than 2^22, another dtype, a range that is
    empty or not finite.
    """

    operation: ClassVar[str] = "histogram"
    words: ClassVar[str] = (
        "{count} {dtype} in {bins} bins{edges? between edges|}{weighted?, weighted|}"
    )

    count: int
    bins: int = field(default=256, metadata=SIZE)
    low: float = field(default=0.0, metadata=SIZE)
    high: float = field(default=256.0, metadata=SIZE)
    dtype: Counted = "uint8"
    edges: bool = False
    weighted: bool = False

    def __post_init__(self) -> None:
        check_positive(count=self.count, bins=self.bins)
        if self.bins > MOST_BINS:
            raise InputError("bins", self.bins, f"at most {MOST_BINS}")
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")
        ends = float(self.low), float(self.high)
        if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
            raise InputError("range", ends, "two finite numbers, the first below the second")
        if self.dtype == "float32" and any(float(np.float32(end)) != end for end in ends):
            raise InputError("range", ends, "numbers that float32 has, for x of float32")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[count], edges[bins + 1] and weights[count] where there are any; counts or sums."""
        found = [Array("x", (self.count,), self.dtype)]
        if self.edges:
            dtype: Any = "float32" if self.dtype == "float32" else "int32"
            found.append(Array("edges", (self.bins + 1,), dtype))
        if self.weighted:
            found.append(Array("weights", (self.count,), "float32"))
        made = ("sums", "float32") if self.weighted else ("counts", "int64")
        found.append(Array(made[0], (self.bins,), made[1], role="output"))  # type: ignore[arg-type]
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
        return edges.astype(np.float32).astype(np.float64) if self.dtype == "float32" else edges

    @property
    def unit(self) -> bool:
        """Whether every bin holds one integer (the last one two)."""
        whole = float(self.low).is_integer() and self.high - self.low == self.bins
        return whole and not self.edges and self.dtype != "float32"

    def reference(self, *arrays: AnyArray) -> AnyArray:
        """The counts, or the sums in float64."""
        return self._summed(arrays, arrays[-1].astype(np.float64) if self.weighted else None)

    def magnitude(self, *arrays: AnyArray) -> AnyArray:
        """The sums of the weights' magnitudes."""
        weights = np.abs(arrays[-1].astype(np.float64)) if self.weighted else None
        return self._summed(arrays, weights)

    def _summed(self, arrays: Sequence[AnyArray], weights: AnyArray | None) -> AnyArray:
        edges = arrays[1].astype(np.float64) if self.edges else self.even_edges
        x = arrays[0].astype(np.float64)
        found = np.searchsorted(edges, x, side="right") - 1
        found[x == edges[-1]] = self.bins - 1
        inside = (found >= 0) & (found < self.bins)
        kept = None if weights is None else weights[inside]
        made = np.bincount(found[inside], kept, minlength=self.bins)
        return made if self.weighted else made.astype(np.int64)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Elements in every bin and beyond them; edges that rise."""
        generator = np.random.default_rng(seed)
        x = self._elements(generator)
        return (x, *self._edges(generator), *self._weights(generator))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Elements that are all equal, that lie in few bins, or on edges and beside them."""
        generator = np.random.default_rng(seed)
        some = self._elements(generator)
        edges, weights = self._edges(generator), self._weights(generator)
        few = np.where(generator.random(self.count) < 0.9, some[0], some)
        found = {"ties": np.full_like(some, some[0]), "skewed": few}
        if self.dtype != "uint8":
            given = edges[0] if edges else self.even_edges
            found["edges"] = generator.choice(given, self.count)
        if self.dtype == "float32":
            away = generator.choice(np.array([-np.inf, np.inf], np.float32), self.count)
            found["beside edges"] = np.nextafter(found["edges"].astype(np.float32), away)
            found["special"] = some.copy()
            places = generator.integers(0, self.count, 1 + self.count // 40)
            found["special"][places] = generator.choice([np.nan, np.inf, -np.inf], places.size)
        return {name: (x.astype(some.dtype), *edges, *weights) for name, x in found.items()}

    def _elements(self, generator: np.random.Generator) -> AnyArray:
        more = _BEYOND * (self.high - self.low)
        low, high = self.low - more, self.high + more
        if self.dtype == "float32":
            return generator.uniform(low, high, self.count).astype(np.float32)
        if self.dtype == "uint8":
            return generator.integers(0, 256, self.count, np.uint8)
        bounds = np.iinfo(np.int32)
        first, last = max(bounds.min, math.floor(low)), min(bounds.max, math.ceil(high))
        return generator.integers(first, last + 1, self.count).astype(np.int32)

    def _edges(self, generator: np.random.Generator) -> tuple[AnyArray, ...]:
        if not self.edges:
            return ()
        edges = np.sort(generator.uniform(self.low, self.high, self.bins + 1))
        return (edges.astype("float32" if self.dtype == "float32" else "int32"),)

    def _weights(self, generator: np.random.Generator) -> tuple[AnyArray, ...]:
        return (generator.standard_normal(self.count, np.float32),) if self.weighted else ()

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.altered`: edges still rise; an element goes to another bin."""
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
        return edges[-1] - (self.dtype == "uint8") if float(value) < middle else edges[0]

    def shrunk(self) -> Histogram:
        """Fewer elements."""
        return dataclasses.replace(self, count=min(self.count, _SHRUNK))

    def neighbours(self) -> tuple[Histogram, ...]:
        """Lengths that nothing divides, and other numbers of bins."""
        return (
            dataclasses.replace(self, count=10_007),
            dataclasses.replace(self, count=131, bins=max(1, self.bins // 3)),
            dataclasses.replace(self, count=5_003, bins=self.bins + 1),
        )

    def smallest(self) -> tuple[Histogram, ...]:
        """One element, and one bin."""
        one = dataclasses.replace(self, count=1)
        return one, dataclasses.replace(one, bins=1)


NAMED = {
    "bytes-10^6": Histogram(10**6),
    "bytes-10^8": Histogram(10**8),
    "bytes-2^28": Histogram(2**28),
    "floats-10^7": Histogram(10**7, 256, 0.0, 1.0, "float32"),
    "floats-10^8": Histogram(10**8, 256, 0.0, 1.0, "float32"),
    "floats-2^28": Histogram(2**28, 256, 0.0, 1.0, "float32"),
    "prices-10^7": Histogram(10**7, 2**18, 0.0, 2.0**18, "int32"),
}
"""Named problems."""
LARGE = Climbed.of("bytes-10^8")
