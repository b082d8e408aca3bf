"""What problems have in common that leave one element of all those along some axes of x."""

from __future__ import annotations

import math
from functools import cached_property

from rooftile.errors import InputError
from rooftile.ops.problem import Problem


class OverAxes(Problem):
    """A problem of x[shape], over all axes (``axis`` None), one, or several."""

    shape: tuple[int, ...]
    axis: int | tuple[int, ...] | None

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The axes that are gone in the result, in order."""
        return axes_of(self.axis, len(self.shape))

    @cached_property
    def inner(self) -> int:
        """Elements behind the axes: from one element of a result to the next."""
        behind = self.shape[self.axes[-1] + 1 :] if self.axes else ()
        return math.prod(behind)

    @cached_property
    def columns(self) -> int:
        """Elements of one result."""
        return math.prod(self.shape[axis] for axis in self.axes)

    @cached_property
    def rows(self) -> int:
        """How many results there are."""
        return math.prod(self.shape) // self.columns

    @cached_property
    def left(self) -> tuple[int, ...]:
        """The shape without the axes."""
        return tuple(n for axis, n in enumerate(self.shape) if axis not in self.axes)


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
