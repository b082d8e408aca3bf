"""`sort`: the elements of each line of an array from the least to the greatest, or back.

Lines are along one axis. The results are the sorted values, or their indices before, or the values
with other numbers that move along. Equal elements keep their order.

Numbers of floating point are ordered as their bits are: -0.0 comes before +0.0, and every NaN comes
last, as any NaN. Where indices are asked for, -0.0 and +0.0 are equal, as in NumPy. In a descending
order NaN comes first, as in PyTorch, and equal elements keep their order, too.

Source: PMPP, chapter 13; Knuth, "The Art of Computer Programming", volume 3, 5.2.5.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.fields import LATER
from rooftile.ops.judgement import Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, Problem

MOVED: tuple[Dtype, ...] = ("float32", "int32")
"""Dtypes of what moves along."""
Gives = Literal["values", "places", "pairs"]
GIVES: tuple[Gives, ...] = ("values", "places", "pairs")
_SHRUNK = 2**20


def ordered(x: AnyArray, *, zeros_equal: bool = False, descending: bool = False) -> AnyArray:
    """Unsigned integers in the order of x's elements."""
    if descending:
        return ~ordered(x, zeros_equal=zeros_equal)
    bits = x.dtype.itemsize * 8
    unsigned: Any = np.dtype(f"uint{bits}")
    given: AnyArray = np.ascontiguousarray(x).view(unsigned)
    if x.dtype.kind == "b":
        # Any byte but 0 is true.
        return np.asarray(given != 0).view(unsigned)
    if x.dtype.kind == "u":
        return given
    top = unsigned.type(1 << (bits - 1))
    if x.dtype.kind == "i":
        return np.asarray(given ^ top)
    if zeros_equal:
        given = np.where(given == top, unsigned.type(0), given)
    every = unsigned.type((1 << bits) - 1)
    keys = np.where(given & top, given ^ every, given ^ top)
    return np.asarray(np.where(np.isnan(x), every, keys))


def elements_of(keys: AnyArray, dtype: np.dtype[Any], *, descending: bool = False) -> AnyArray:
    """The elements whose integers `ordered` gives; any NaN for that of NaN."""
    if descending:
        keys = ~keys
    if dtype.kind in "ub":
        return keys.view(dtype)
    bits = dtype.itemsize * 8
    top, every = (keys.dtype.type(number) for number in (1 << (bits - 1), (1 << bits) - 1))
    turned = keys ^ top if dtype.kind == "i" else np.where(keys & top, keys ^ top, keys ^ every)
    return np.asarray(turned).view(dtype)


def _other(value: Any) -> Any:
    """An element that differs from another."""
    return ~value if value.dtype.kind == "b" else value.dtype.type(float(value) < 1)


@dataclass(frozen=True)
class Sort(Problem):
    """x[shape] sorted along one axis.

    ``gives`` says what is made: ``values``, y[shape]; ``places``, where each of the sorted elements
    was in its line, int64[shape]; ``pairs``, y[shape] and moved[shape], the elements of
    with_it[shape] in the order of x.  ``descending`` begins with the greatest.  Raises `InputError`
    for another axis, dtype or form, and for an empty array.
    """

    operation: ClassVar[str] = "sort"
    words: ClassVar[str] = (
        "{shape} {dtype} along axis {axis}, for the {gives}{descending?, descending|}"
    )

    shape: tuple[int, ...]
    axis: int = -1
    dtype: Dtype = "float32"
    gives: Gives = "values"
    moves: Dtype = "int32"
    descending: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        rank = len(self.shape)
        if type(self.axis) is not int or not -rank <= self.axis < rank:
            expected = f"an axis of x, which has {rank}" if rank else "an x with axes"
            raise InputError("axis", repr(self.axis), expected)
        object.__setattr__(self, "axis", self.axis % rank)
        for name, known in (("dtype", DTYPES), ("gives", GIVES), ("moves", MOVED)):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)
        if not isinstance(self.descending, bool):
            raise InputError("descending", repr(self.descending), "True or False")

    @cached_property
    def count(self) -> int:
        """Elements of a line."""
        return self.shape[self.axis]

    @cached_property
    def inner(self) -> int:
        """From one element of a line to the next."""
        return math.prod(self.shape[self.axis + 1 :])

    @property
    def case(self) -> str:
        """Adjacent lines are another case."""
        return f"{super().case}{' beside' if self.inner > 1 else ''}"

    @property
    def lines(self) -> int:
        """Number of lines."""
        return math.prod(self.shape) // self.count

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape] and y[shape]; or places[shape]; or with_it[shape] and moved[shape] besides."""
        x, y = Array("x", self.shape, self.dtype), Array("y", self.shape, self.dtype, "output")
        if self.gives == "values":
            return x, y
        if self.gives == "places":
            return x, Array("places", self.shape, "int64", "output")
        with_it = Array("with_it", self.shape, self.moves)
        return x, with_it, y, Array("moved", self.shape, self.moves, "output")

    @property
    def key_bytes(self) -> int:
        return self.arrays[0].numpy.itemsize

    @property
    def flops(self) -> int:
        """As many comparisons as it takes to tell all orders of a line apart: log2(count!)."""
        return self.lines * math.ceil(math.lgamma(self.count + 1) / math.log(2))

    def reference(self, *arrays: AnyArray) -> Any:
        """By NumPy's sort of keys in the elements' order, stable where more than they moves."""
        back = self.descending
        keys = ordered(arrays[0], zeros_equal=self.gives == "places", descending=back)
        if self.gives == "values":
            return elements_of(np.sort(keys, axis=self.axis), arrays[0].dtype, descending=back)
        places = np.argsort(keys, axis=self.axis, kind="stable")
        if self.gives == "places":
            return places.astype(np.int64)
        return tuple(np.take_along_axis(array, places, self.axis) for array in arrays)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly: nothing is rounded."""
        return Exact()

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.random`; what moves along is all different."""
        return self._with(super().random(seed)[0])

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Also few values, which shows whether equal ones keep their order, and both zeros."""
        generator = np.random.default_rng(seed)
        (x, *_) = self.random(seed)
        found = {kind: self._with(arrays[0]) for kind, arrays in super().hard(seed).items()}
        found["few values"] = self._with(generator.choice(x.reshape(-1)[:5], x.shape))
        falling = np.flip(np.sort(ordered(x), self.axis), self.axis)
        found["falling"] = self._with(elements_of(np.ascontiguousarray(falling), x.dtype))
        if x.dtype.kind in "fV":
            zeros = np.array([0.0, -0.0, 1.0]).astype(x.dtype)
            found["both zeros"] = self._with(generator.choice(zeros, x.shape))
        return found

    def _with(self, x: AnyArray) -> tuple[AnyArray, ...]:
        if self.gives != "pairs":
            return (x,)
        with_it = np.arange(x.size).reshape(x.shape)
        return x, with_it.astype(self.moves)

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        if which == 1:
            changed = arrays[1].copy()
            changed.reshape(-1)[np.random.default_rng(seed).integers(changed.size)] += 1
            return arrays[0], changed
        x = arrays[0].copy()
        line = np.moveaxis(x, self.axis, -1).reshape(-1, self.count)[0]
        # The greatest takes the place of the first, so that places change too.
        keys = ordered(line)
        place = (0,) * len(self.shape)
        first = int(keys.argmin()) if keys[0] == keys.max() else int(keys.argmax())
        x[place] = line[first] if keys.min() != keys.max() else _other(line[0])
        return (x, *arrays[1:])

    def shrunk(self) -> Sort:
        share = max(1, math.prod(self.shape) // _SHRUNK)
        shape = list(self.shape)
        shape[self.axis] = max(1, self.count // share)
        return dataclasses.replace(self, shape=tuple(shape))

    def neighbours(self) -> tuple[Sort, ...]:
        if self.inner > 1:
            shapes: tuple[tuple[int, ...], ...] = ((131, 7), (3, 1025, 5))
            return tuple(dataclasses.replace(self, shape=s, axis=len(s) - 2) for s in shapes)
        shapes = ((917,), (4099,)) if len(self.shape) == 1 else ((7, 131), (3, 1025))
        return tuple(dataclasses.replace(self, shape=s, axis=-1) for s in shapes)

    def smallest(self) -> tuple[Sort, ...]:
        return (dataclasses.replace(self, shape=(1,) * len(self.shape)),)


NAMED = {
    "floats-2^20": Sort((2**20,)),
    "floats-2^26": Sort((2**26,)),
    "floats-10^7": Sort((10**7,)),
    "floats-10^8": Sort((10**8,)),
    "places-2^26": Sort((2**26,), gives="places"),
    "places-10^7": Sort((10**7,), gives="places"),
    "pairs-2^26": Sort((2**26,), gives="pairs"),
    "ints-2^26": Sort((2**26,), dtype="int32"),
    "bytes-2^26": Sort((2**26,), dtype="uint8"),
    "rows-1000": Sort((1000, 1000)),
    "rows-2048": Sort((128, 2048)),
    "columns-1000": Sort((1000, 1000), 0),
}
TEXTBOOK = Climbed.of("rows-2048")
LARGE = Climbed.of("floats-10^7")
