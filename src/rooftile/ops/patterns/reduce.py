"""`reduce`: the sum, product, least, greatest, or another combination of an array's elements.

``y[...] = x[first] op x[next] op ... op x[last]`` over all axes, one, or several neighbouring ones.
Numbers of 16 bits are combined in float32, and integers and bool in 64 bits unless they are
selected.

Source: PMPP, chapter 10.
"""

from __future__ import annotations

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
from rooftile.ops.operator import MAX, MIN, PRODUCT, SUM, Operator
from rooftile.ops.patterns import combining
from rooftile.ops.patterns.over_axes import OverAxes, axes_of
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype


@dataclass(frozen=True)
class Reduce(OverAxes):
    """x[shape] combined over all axes (``axis`` None), one, or several that follow each other.

    Raises `InputError` for another axis, for a dtype that the operator does not combine, and for an
    empty array.
    """

    operation: ClassVar[str] = "reduce"
    words: ClassVar[str] = "the {operator} of {shape} {dtype}{along}"

    shape: tuple[int, ...]
    axis: int | tuple[int, ...] | None = None
    dtype: Dtype = "float32"
    operator: Operator = SUM

    def __post_init__(self) -> None:
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        if self.dtype not in DTYPES:
            raise InputError("dtype", self.dtype, f"one of {list(DTYPES)}")
        reason = self.operator.why_not(self.dtype)
        if reason is not None:
            raise InputError("operator", repr(self.operator), f"one of {self.dtype}: {reason}")
        axes = axes_of(self.axis, len(self.shape))
        if axes != tuple(range(axes[0], axes[0] + len(axes))) if axes else self.shape:
            raise InputError("axis", self.axis, "axes that follow each other, or None for all")

    @property
    def case(self) -> str:
        """Adjacent results, and numbers that are selected and not added, are cases of their own."""
        beside = " beside" if self.inner > 1 else ""
        selected = self.operator in (MIN, MAX) and super().case != "integers"
        return f"{super().case}{beside}{' selected' if selected else ''}"

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape], and results[shape without the axes]."""
        made = self.operator.result(self.dtype)
        return (
            Array("x", self.shape, self.dtype),
            Array("results", self.left, made, role="output"),
        )

    @property
    def carried(self) -> Dtype:
        """The dtype in which elements are combined."""
        return self.operator.carried(self.dtype)

    @property
    def reduction(self) -> int:
        """Elements of one result."""
        return self.columns

    @property
    def flops(self) -> int:
        """One combination for each element."""
        return math.prod(self.shape)

    def reference(self, x: AnyArray) -> AnyArray:
        """In float64 of numbers, in more of float64; exact of integers, which wrap around."""
        given = self.wide(x)
        if self.operator.ufunc is not None:
            made = self.operator.ufunc.reduce(given, axis=self.axes, dtype=given.dtype)
            return np.asarray(made)
        parts = given.reshape(self.rows // self.inner, self.columns, self.inner)
        made = folded(self.operator, np.moveaxis(parts, 1, 0))
        return np.asarray(made.reshape(self._result.shape))

    def magnitude(self, x: AnyArray) -> AnyArray:
        """The sum of the magnitudes; that of a product; at least both for another operator."""
        if self.operator == PRODUCT:
            return np.asarray(np.abs(self.reference(x)))
        wide = np.abs(self.wide(x))
        magnitudes = np.asarray(wide.sum(axis=self.axes))
        if self.operator == SUM:
            return magnitudes
        made = np.maximum(np.abs(self.reference(x)), np.abs(self.reference(np.abs(x))))
        return np.asarray(np.maximum(magnitudes, made))

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly, where nothing is rounded."""
        return combining.judgement(self.operator, output, self.columns)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """See `Problem.random`; the numbers of a product lie so close to 1 that it stays finite."""
        (x,) = super().random(seed)
        return (self._tame(x),)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """See `Problem.hard`. What a product of very large and very small numbers is depends on
        their order, and what an operator of the caller makes of NaN and infinities may."""
        kinds = super().hard(seed)
        if self.operator.ufunc is None:
            return {"ties": kinds["ties"]}
        if self.operator != PRODUCT or self._result.numpy.kind in "iu":
            return kinds
        (x,) = self.random(seed)
        (places,) = kinds["infinities"]
        special = np.where(np.isinf(places.astype(np.float32)), places, x)
        return {"ties": (np.full_like(x, x.flat[0]),), "infinities": (special.astype(x.dtype),)}

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        changed = super().altered(arrays, which, seed)
        if not self.operator.selects:
            return changed
        (x,) = (array.copy() for array in arrays)
        flat, place = x.reshape(-1), np.random.default_rng(seed).integers(x.size)
        flat[place] = combining.other(self.operator, flat[place])
        return (x,)

    @property
    def _result(self) -> Array:
        return self.output_arrays[0]

    def wide(self, x: AnyArray) -> AnyArray:
        """Elements in what the reference is computed in."""
        if self._result.numpy.kind in "iu":
            return x.astype(self.carried)
        if self.operator.selects:
            return x.astype(np.float32) if x.dtype.itemsize == 2 else x
        return x.astype(np.longdouble if self.dtype == "float64" else np.float64)

    def _tame(self, x: AnyArray) -> AnyArray:
        if self.operator != PRODUCT or self._result.numpy.kind in "iu":
            return x
        wide = x.astype(np.float64) / math.sqrt(self.columns)
        return np.where(np.abs(wide) < 1, 1 + wide / 2, 1).astype(x.dtype)


def folded(operator: Operator, x: AnyArray) -> AnyArray:
    """The elements along the first axis combined: neighbours first, or one after the other."""
    if not operator.associative:
        made = np.full(x.shape[1:], operator.identity, x.dtype)
        for one in x:
            made = operator.combine(made, one)
        return made
    while len(x) > 1:
        whole = len(x) // 2 * 2
        made = operator.combine(x[0:whole:2], x[1:whole:2])
        x = np.concatenate([made, x[whole:]])
    return np.asarray(x[0])


NAMED = {
    "sum-2^20": Reduce((2**20,)),
    "sum-2^28": Reduce((2**28,)),
    "sum-10^8": Reduce((10**8,)),
    "max-2^28": Reduce((2**28,), operator=MAX),
    "max-10^8": Reduce((10**8,), operator=MAX),
    "sum-bytes-2^28": Reduce((2**28,), dtype="uint8"),
    "sum-fp16-2^28": Reduce((2**28,), dtype="float16"),
    "rows-1000": Reduce((1000, 1000), -1),
    "rows-16384": Reduce((16384, 16384), -1),
    "columns-1000": Reduce((1000, 1000), 0),
    "columns-16384": Reduce((16384, 16384), 0),
    "cube-512": Reduce((512, 512, 512), -1),
}
"""Named problems; the cube is that of a course's exercise."""
LARGE = Climbed.of("sum-10^8")
