"""`scan`: what the elements before each element come to, that one included or not.

``y[..., i, ...] = x[..., 0, ...] op x[..., 1, ...] op ... op x[..., i, ...]`` along one axis, from
either end. Numbers of 16 bits are combined in float32, and integers in 64 bits unless they are
selected.

Source: PMPP, chapter 11; Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Judgement
from rooftile.ops.operator import MAX, SUM, Operator
from rooftile.ops.patterns import combining
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Dtype, Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class Scan(Problem):
    """x[shape] scanned along one axis.

    ``exclusive``: without the element itself, so that the first result is the operator's identity.
    ``reverse``: from the last element to the first.  Raises `InputError` for another axis, for a
    dtype that the operator does not combine, and for an empty array.
    """

    operation: ClassVar[str] = "scan"
    words: ClassVar[str] = (
        "{operator} of {shape} {dtype} along axis {axis}{exclusive?, "
        "exclusive|}{reverse?, from the end|}"
    )

    shape: tuple[int, ...]
    axis: int = -1
    dtype: Dtype = "float32"
    operator: Operator = SUM
    exclusive: bool = False
    reverse: bool = False

    def __post_init__(self) -> None:
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        combining.check(self.operator, self.dtype)
        rank = len(self.shape)
        if type(self.axis) is not int or not -rank <= self.axis < rank:
            expected = f"an axis of x, which has {rank}" if rank else "an x with axes"
            raise InputError("axis", repr(self.axis), expected)
        object.__setattr__(self, "axis", self.axis % rank)

    @cached_property
    def count(self) -> int:
        """Elements of a line: what is scanned together."""
        return self.shape[self.axis]

    @cached_property
    def inner(self) -> int:
        """From one element of a line to the next."""
        return math.prod(self.shape[self.axis + 1 :])

    @cached_property
    def outer(self) -> int:
        """Blocks of ``count`` times ``inner`` elements, one after the other."""
        return math.prod(self.shape[: self.axis])

    @property
    def case(self) -> str:
        """Adjacent lines are another case."""
        return f"{super().case}{' beside' if self.inner > 1 else ''}"

    @property
    def lines(self) -> int:
        """Number of scans."""
        return self.outer * self.inner

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape] and y[shape]."""
        made = self.operator.result(self.dtype)
        return (Array("x", self.shape, self.dtype), Array("y", self.shape, made, role="output"))

    @property
    def carried(self) -> Dtype:
        """The dtype in which elements are combined."""
        return self.operator.carried(self.dtype)

    @property
    def reduction(self) -> int:
        """Elements of the last result."""
        return self.count

    @property
    def flops(self) -> int:
        """One combination for each element."""
        return math.prod(self.shape)

    def reference(self, x: AnyArray) -> AnyArray:
        """In float64 of numbers, in more of float64; exact of integers, which wrap around."""
        lines = combining.wide(self.operator, self.dtype, x)
        lines = lines.reshape(self.outer, self.count, self.inner).swapaxes(0, 1)
        if self.reverse:
            lines = lines[::-1]
        made = combining.scanned(self.operator, lines)
        if self.exclusive:
            first = np.full_like(made[:1], self.operator.identity_in(self.carried))
            made = np.concatenate([first, made[:-1]])
        if self.reverse:
            made = made[::-1]
        return np.asarray(made.swapaxes(0, 1).reshape(self.shape))

    def magnitude(self, x: AnyArray) -> AnyArray:
        return combining.magnitude(self.operator, self.reference, x)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly, where nothing is rounded."""
        return combining.judgement(self.operator, output, self.reduction)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.random`; the numbers of a product lie so close to 1 that it stays finite."""
        return combining.tame(self.operator, self.count, super().random(seed))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """See `Problem.hard`, as far as the result does not depend on the order."""
        return combining.hard(self.operator, super().hard(seed), self.random(seed))

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        (x,) = (array.copy() for array in arrays)
        lines = x.reshape(self.outer, self.count, self.inner)
        first = self.count - 1 if self.reverse else 0
        generator = np.random.default_rng(seed)
        place = generator.integers(self.outer), first, generator.integers(self.inner)
        lines[place] = combining.other(self.operator, lines[place])
        return (x,)

    def shrunk(self) -> Scan:
        share = max(1, math.prod(self.shape) // _SHRUNK)
        shape = list(self.shape)
        shape[self.axis] = max(1, self.count // share)
        return dataclasses.replace(self, shape=tuple(shape))

    def neighbours(self) -> tuple[Scan, ...]:
        if self.inner > 1:
            shapes: tuple[tuple[int, ...], ...] = ((131, 7), (3, 1025, 5), (1, 70), (70, 129))
            return tuple(dataclasses.replace(self, shape=s, axis=len(s) - 2) for s in shapes)
        shapes = ((917,), (4099,), (65537,)) if len(self.shape) == 1 else ((7, 131), (3, 1025))
        return tuple(dataclasses.replace(self, shape=s, axis=-1) for s in shapes)

    def smallest(self) -> tuple[Scan, ...]:
        return (dataclasses.replace(self, shape=(1,) * len(self.shape)),)


NAMED = {
    "sum-2^20": Scan((2**20,)),
    "sum-10^8": Scan((10**8,)),
    "sum-2^28": Scan((2**28,)),
    "max-2^28": Scan((2**28,), operator=MAX),
    "sum-fp16-2^28": Scan((2**28,), dtype="float16"),
    "sum-bytes-2^28": Scan((2**28,), dtype="uint8"),
    "rows-1000": Scan((1000, 1000)),
    "rows-16384": Scan((16384, 16384)),
    "columns-1000": Scan((1000, 1000), 0),
    "columns-16384": Scan((16384, 16384), 0),
}
LARGE = Climbed.of("sum-10^8")
