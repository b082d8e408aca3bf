"""`unique`: of neighbours that are equal, the first.

Of a sorted array, these are its different elements.  How many there are depends on the data: y has
room for all, and the second output says how many of its elements are meant.  -0.0 equals +0.0, and
a NaN every other NaN, as in NumPy.

With ``runs`` the array need not be sorted: an order of its elements comes with it, and for each run
the outputs say where its first element was, how long it is, and for each element which run has it.

Source: Bell, Hoberock, "Thrust: A Productivity-Oriented Library for CUDA" (GPU Computing Gems,
2011); Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.fields import LATER
from rooftile.ops.judgement import Exact, Judgement, Properties
from rooftile.ops.patterns.counted import Counted
from rooftile.ops.patterns.sort import ordered
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype


@dataclass(frozen=True)
class Unique(Counted):
    """y[count] and found[1], int64, of x[count].

    ``runs``: also of order[count], the places of x's elements in a stable order; there are three
    more outputs of int64 then: index[count], where the first element of each run is in x,
    inverse[count], the number of each element's run, and counts[count], the lengths of runs.
    Raises `InputError` for a count below 1, another dtype, and runs that are no bool.
    """

    operation: ClassVar[str] = "unique"
    words: ClassVar[str] = (
        "{count} {dtype} in runs of equal ones{runs?, with their places and lengths|}"
    )

    dtype: Dtype = "float32"
    runs: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(count=self.count)
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")
        if not isinstance(self.runs, bool):
            raise InputError("runs", repr(self.runs), "True or False")

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[count]; y[count] and found[1]; with runs order[count], and index, inverse, counts."""
        x, y = (Array(name, (self.count,), self.dtype) for name in "xy")
        made = (replace(y, role="output"), Array("found", (1,), "int64", role="output"))
        if not self.runs:
            return x, *made
        more = (
            Array(name, (self.count,), "int64", role="output")
            for name in ("index", "inverse", "counts")
        )
        return x, Array("order", (self.count,), "int64"), *made, *more

    @property
    def flops(self) -> int:
        """A comparison for each element."""
        return self.count

    def reference(self, x: AnyArray, *order: AnyArray) -> tuple[AnyArray, ...]:
        """The first of each run, how many runs there are, and more of them; zeros behind."""
        keys = ordered(x if not self.runs else x[order[0]], zeros_equal=True)
        begins = np.concatenate(([True], keys[1:] != keys[:-1]))
        firsts = np.flatnonzero(begins)
        places = order[0] if self.runs else np.arange(self.count)
        y, index, counts = np.zeros_like(x), np.zeros_like(places), np.zeros_like(places)
        y[: firsts.size] = x[places[firsts]]
        found = np.array([firsts.size], np.int64)
        if not self.runs:
            return y, found
        index[: firsts.size] = places[firsts]
        counts[: firsts.size] = np.diff(firsts, append=self.count)
        inverse = np.empty_like(places)
        inverse[places] = np.cumsum(begins) - 1
        return y, found, index, inverse, counts

    def defined(self, *outputs: AnyArray) -> tuple[AnyArray, ...]:
        """See `Problem.defined`: nothing after the last run."""
        y, found, *more = outputs
        kept = slice(0, max(0, int(found[0])))
        if not more:
            return y[kept], found
        index, inverse, counts = more
        return y[kept], found, index[kept], inverse, counts[kept]

    def given_by_others(self, made: AnyArray) -> tuple[AnyArray, ...]:
        """See `Problem.given_by_others`: others give what was kept alone."""
        y = np.zeros(self.count, self.arrays[0].numpy)
        y[: made.size] = made
        return y, np.array([made.size], np.int64)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The number of runs and each element's run exactly; the outputs of runs bit by bit, up to
        the last run."""
        _, found, *of_runs = self.output_arrays
        return Exact() if output in (found, *of_runs[1:2]) else Properties(self._wrong)

    def _wrong(self, *arrays: AnyArray) -> str:
        outputs = len(self.output_arrays)
        made, wanted = arrays[:outputs], self.reference(*arrays[outputs:])
        (count,) = wanted[1]
        for output, own, right in zip(self.output_arrays, made, wanted, strict=True):
            bits = np.dtype(f"u{right.dtype.itemsize}")
            off = np.flatnonzero(own[:count].view(bits) != right[:count].view(bits))
            if off.size:
                return f"{off.size} of {count} runs have another {output.name}"
        return ""

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Runs of a few elements."""
        generator = np.random.default_rng(seed)
        values = super().random(seed)[0]
        return self._with(values[np.cumsum(generator.random(self.count) < 0.4) - 1], generator)

    def _with(self, x: AnyArray, generator: np.random.Generator) -> tuple[AnyArray, ...]:
        """The elements; with runs in any order, and the order that they are sorted by."""
        if not self.runs:
            return (x,)
        mixed = generator.permutation(x)
        return mixed, np.argsort(ordered(mixed, zeros_equal=True), kind="stable")

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        if not self.runs:
            return super().altered(arrays, which, seed)
        x = super().altered(arrays, 0, seed)[0]
        return x, np.argsort(ordered(x, zeros_equal=True), kind="stable")

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Also long runs, none at all, and both zeros."""
        generator = np.random.default_rng(seed)
        values = super().random(seed)[0]
        found = {kind: arrays[0] for kind, arrays in super().hard(seed).items()}
        found["all different"] = values
        found["long runs"] = values[np.cumsum(generator.random(self.count) < 0.001) - 1]
        if values.dtype.kind in "fV":
            zeros = np.array([0.0, -0.0, 1.0]).astype(values.dtype)
            found["both zeros"] = generator.choice(zeros, self.count)
        return {kind: self._with(x, generator) for kind, x in found.items()}


NAMED = {
    "runs-10^6": Unique(10**6),
    "runs-2^26": Unique(2**26),
    "runs-10^8": Unique(10**8),
    "runs-2^28": Unique(2**28),
}
LARGE = Climbed.of("runs-10^8")
