"""`scatter`: values that update elements at given places, in any order.

``y = x``, and for each i, in whatever order, ``y[index[i]] = f(y[index[i]], values[i])``. Several
values may meet at one place, so that each update must be one step that no other update interrupts:
an atomic one.

Source: PMPP, section 9.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from rooftile.errors import check_word
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Budget, Exact, Judgement, Properties
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Problem, ordinary

Function = Literal[
    "add", "subtract", "increment", "decrement", "min", "max", "exchange", "multiply"
]
FUNCTIONS: tuple[Function, ...] = (
    "add",
    "subtract",
    "increment",
    "decrement",
    "min",
    "max",
    "exchange",
    "multiply",
)
Dtype = Literal["int32", "int64", "float32", "float64"]
DTYPES: tuple[Dtype, ...] = ("int32", "int64", "float32", "float64")
_ALONE = ("increment", "decrement")
"""Functions that need no values: they count by one."""
_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "increment": np.add,
    "decrement": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "multiply": np.multiply,
}
_SHRUNK = 2**18


@dataclass(frozen=True)
class Scatter(Problem):
    """y[places] of x[places], index[count] and values[count], which `increment` and `decrement`
    do not have.

    Integers wrap around; the least and the greatest are NaN where either is.  Of values that are
    exchanged into one place any may be left there.  Raises `InputError` for sizes below 1, another
    function and other dtypes.
    """

    operation: ClassVar[str] = "scatter"
    words: ClassVar[str] = "{count} {dtype} to {places} places by {function}"

    count: int
    places: int
    function: Function = "add"
    dtype: Dtype = "int32"
    index: Literal["int32", "int64"] = "int32"

    def __post_init__(self) -> None:
        check_positive(count=self.count, places=self.places)
        for name, allowed in (
            ("function", FUNCTIONS),
            ("dtype", DTYPES),
            ("index", ("int32", "int64")),
        ):
            check_word(name, getattr(self, name), allowed)

    @property
    def has_values(self) -> bool:
        """True if the function takes values."""
        return self.function not in _ALONE

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[places], index[count], values[count] where there are any, y[places]."""
        values = (Array("values", (self.count,), self.dtype),) if self.has_values else ()
        return (
            Array("x", (self.places,), self.dtype),
            Array("index", (self.count,), self.index),
            *values,
            Array("y", (self.places,), self.dtype, role="output"),
        )

    @property
    def flops(self) -> int:
        """One operation for each value."""
        return self.count

    @property
    def reduction(self) -> int:
        """Values that may meet at one place."""
        return self.count

    def reference(self, x: AnyArray, index: AnyArray, *values: AnyArray) -> AnyArray:
        """In double precision, or in 64 bits that wrap around as the dtype's do."""
        real = x.dtype.kind == "f"
        y = x.astype(np.float64 if real else np.int64)
        given = values[0].astype(y.dtype) if values else y.dtype.type(1)
        if self.function == "exchange":
            y[index] = given
            return y
        with np.errstate(over="ignore"):
            _UFUNCS[self.function].at(y, index, given)
            return y if real else y.astype(x.dtype)

    def magnitude(self, x: AnyArray, index: AnyArray, *values: AnyArray) -> AnyArray:
        """The sums of the terms' magnitudes; of a product its own, for each of its factors."""
        if self.function == "multiply":
            factors = 1 + np.bincount(index, minlength=self.places)
            return np.abs(self.reference(x, index, *values)) * np.sqrt(factors)
        made = np.abs(x.astype(np.float64))
        np.add.at(made, index, np.abs(values[0]) if values else 1)
        return made

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly, but for sums and products of floating-point numbers, and exchanges."""
        if self.function == "exchange":
            return Properties(self._wrong)
        rounds = output.numpy.kind == "f" and self.function not in ("min", "max")
        return Budget(self.reduction) if rounds else Exact()

    def _wrong(self, y: AnyArray, x: AnyArray, index: AnyArray, values: AnyArray) -> str:
        """Every element is one of those exchanged into its place, or the old one."""
        bits = np.dtype(f"u{y.dtype.itemsize}")
        found, given, old = y.view(bits), values.view(bits), x.view(bits)
        right = np.zeros(self.places, bool)
        right[index[found[index] == given]] = True
        untouched = np.ones(self.places, bool)
        untouched[index] = False
        right[untouched] = (found == old)[untouched]
        off = np.flatnonzero(~right)
        return f"place {off[0]} holds none of its values, and {off.size} in all" if off.size else ""

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Values for every place, a quarter of them for few places; factors near one."""
        generator = np.random.default_rng(seed)
        made = {a.name: ordinary(a, generator) for a in self.given_arrays}
        few = generator.random(self.count) < 0.25
        drawn = generator.integers(0, self.places, self.count)
        made["index"] = np.where(few, drawn % min(3, self.places), drawn).astype(self.index)
        if self.function == "multiply":
            made["values"] = self._factors(generator)
        return tuple(made.values())

    def _factors(self, generator: np.random.Generator) -> AnyArray:
        """Factors whose products at one place do not leave the range of floating-point numbers."""
        if self.dtype.startswith("int"):
            return generator.choice([-3, -1, 1, 1, 5], self.count).astype(self.dtype)
        return (1 + generator.normal(0, 1e-3, self.count)).astype(self.dtype)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """All values for one place; and large ones, which wrap around or are special."""
        x, index, *values = self.random(seed)
        found = {"one place": (x, np.full_like(index, self.places - 1), *values)}
        if values and self.function != "multiply":
            odd = values[0].copy()
            if x.dtype.kind == "f":
                odd[:: 1 + self.count // 3] = np.nan if self.function in ("min", "max") else np.inf
                found["special"] = (x, index, odd)
            else:
                odd[::2] = np.iinfo(x.dtype).max
                found["large"] = (x, index, odd)
        return found

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        if which != 1:
            return super().altered(arrays, which, seed)
        index = arrays[1].copy()
        place = int(np.random.default_rng(seed).integers(self.count))
        index[place] = (index[place] + 1) % self.places
        return (arrays[0], index, *arrays[2:])

    def shrunk(self) -> Scatter:
        return dataclasses.replace(self, count=min(self.count, _SHRUNK))

    def neighbours(self) -> tuple[Scatter, ...]:
        return (
            dataclasses.replace(self, count=1031, places=257),
            dataclasses.replace(self, count=131, places=1),
        )

    def smallest(self) -> tuple[Scatter, ...]:
        return (dataclasses.replace(self, count=1, places=1),)


NAMED = {
    "add-10^6-in-1000": Scatter(10**6, 1000),
    "add-2^26-in-2^20": Scatter(2**26, 2**20),
    "add-floats-2^26-in-2^20": Scatter(2**26, 2**20, "add", "float32"),
    "max-floats-2^26-in-2^20": Scatter(2**26, 2**20, "max", "float32"),
    "multiply-2^26-in-2^20": Scatter(2**26, 2**20, "multiply", "float32"),
}
"""Named problems: a function, how many values, and how many places."""
LARGE = Climbed.of("add-2^26-in-2^20")
