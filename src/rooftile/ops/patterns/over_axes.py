"""Problems that leave one element of all elements along some axes of x."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from rooftile.errors import InputError
from rooftile.ops.problem import Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class OverAxes(Problem):
    """A problem of x[shape], over all axes (``axis`` None), one, or several."""

    shape: tuple[int, ...]
    axis: int | tuple[int, ...] | None

    @property
    def along(self) -> str:
        """The axes in words; empty where all are gone."""
        return "" if self.axis is None else f", along axis {self.axis}"

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The axes that are gone in the result, in order."""
        return axes_of(self.axis, len(self.shape))

    @cached_property
    def inner(self) -> int:
        """Elements after the axes: from one element of a result to the next."""
        behind = self.shape[self.axes[-1] + 1 :] if self.axes else ()
        return math.prod(behind)

    @cached_property
    def columns(self) -> int:
        """Elements of one result."""
        return math.prod(self.shape[axis] for axis in self.axes)

    @cached_property
    def rows(self) -> int:
        """Number of results."""
        return math.prod(self.shape) // self.columns

    @cached_property
    def left(self) -> tuple[int, ...]:
        """The shape without the axes."""
        return tuple(n for axis, n in enumerate(self.shape) if axis not in self.axes)

    def shrunk(self) -> Self:
        return dataclasses.replace(self, shape=shrunk_shape(self.shape, self.axes))

    def neighbours(self) -> tuple[Self, ...]:
        if self.axis is None:
            shapes: tuple[tuple[int, ...], ...] = ((917,), (13, 1031), (65537,))
            return tuple(dataclasses.replace(self, shape=shape) for shape in shapes)
        if self.inner == 1:
            rows = ((7, 131), (3, 1025), (5, 1))
            return tuple(dataclasses.replace(self, shape=shape, axis=-1) for shape in rows)
        planes = ((131, 7), (3, 1025, 5), (1, 70))
        return tuple(dataclasses.replace(self, shape=p, axis=len(p) - 2) for p in planes)

    def smallest(self) -> tuple[Self, ...]:
        if self.axis is None:
            return (dataclasses.replace(self, shape=(1,)),)
        axis = -1 if self.inner == 1 else 0
        return (dataclasses.replace(self, shape=(1, 1), axis=axis),)


def axes_of(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the first, in order.  Raises `InputError` for what is no axis of x."""
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    for one in axes:
        if not isinstance(one, int) or isinstance(one, bool) or not -rank <= one < rank:
            expected = f"None, or axes of x, which has {rank}" if rank else "None: x has no axes"
            raise InputError("axis", repr(axis), expected)
    found = tuple(sorted(one % rank for one in axes))
    if not found or len({*found}) < len(found):
        raise InputError("axis", repr(axis), "None, or different axes of x")
    return found


def shrunk_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with fewer elements along these axes."""
    share, made = max(1, math.prod(shape) // _SHRUNK), list(shape)
    for axis in axes:
        less = max(1, made[axis] // share)
        share = max(1, share * less // made[axis])
        made[axis] = less
    return tuple(made)
