"""Images with their channels last, in the CPU's memory, whose kernels know row-major arrays alone.

They are rearranged by the fastest strategy of `transpose`, faster than NumPy and PyTorch do it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.patterns.transpose import Transpose
from rooftile.ops.problem import Array
from rooftile.runtime.arrays.results import new_result
from rooftile.runtime.selection.choice import decide

_LAST, _FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""The axes of [batch, channels, height, width] with the channels last, and back."""


def has_channels_last(array: AnyArray) -> bool:
    """True if an array of images is not row-major, but would be with its channels last."""
    return (
        array.ndim == 4
        and not array.flags.c_contiguous
        and bool(array.transpose(_LAST).flags.c_contiguous)
    )


def row_major(array: AnyArray) -> AnyArray:
    """A row-major copy of images with their channels last.  Raises `OutOfMemory`."""
    made = _memory(array.shape, array)
    _rearrange(array.transpose(_LAST), _FIRST, made)
    return made


def channels_last(array: AnyArray) -> AnyArray:
    """A copy of row-major images with their channels last.  Raises `OutOfMemory`."""
    batch, channels, height, width = array.shape
    made = _memory((batch, height, width, channels), array)
    _rearrange(array, _LAST, made)
    return made.transpose(_FIRST)


def write(array: AnyArray, to: AnyArray) -> None:
    """Copy a row-major array into one that is row-major, or has its channels last."""
    if array.dtype == to.dtype and has_channels_last(to):
        _rearrange(array, _LAST, to.transpose(_LAST))
    else:
        to[...] = array


def _memory(shape: tuple[int, ...], like: AnyArray) -> AnyArray:
    """As of a result: what is used again is in the caches, and need not be made by the system."""
    dtype: Any = like.dtype.name
    return new_result(Array("y", shape, dtype))


def _rearrange(array: AnyArray, axes: tuple[int, ...], to: AnyArray) -> None:
    """Both are row-major."""
    if not array.flags.aligned or not to.flags.aligned or array.dtype != "float32":
        to[...] = array.transpose(axes)
        return
    _bound(array.shape, axes)(array, to)


@lru_cache(maxsize=64)
def _bound(shape: tuple[int, ...], axes: tuple[int, ...]) -> Callable[..., None]:
    choice = decide(Transpose(shape, axes))
    rung: Any = choice.strategy
    bound: Callable[..., None] = rung.bind(choice.problem, (), cpu.open_device())
    return bound
