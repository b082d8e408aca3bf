"""A permutation of up to four axes, as kernels take it."""

from __future__ import annotations

import math

from rooftile.ops.patterns.transpose import Transpose

MOST_AXES = 4


def too_many_axes(problem: Transpose) -> str | None:
    """Why a kernel for any permutation does not take a problem."""
    shape, axes = problem.merged
    if len(shape) <= MOST_AXES:
        return None
    return f"a permutation of {len(shape)} axes {axes}, where neighbours count as one, at most 4"


def of_results(problem: Transpose) -> tuple[list[int], list[int]]:
    """Four sizes of y, and how far apart in x their elements lie."""
    shape, axes = problem.merged
    return _padded([shape[axis] for axis in axes], [_strides(shape)[axis] for axis in axes])


def of_inputs(problem: Transpose) -> tuple[list[int], list[int]]:
    """Four sizes of x, and how far apart in y their elements lie."""
    shape, axes = problem.merged
    strides = _strides([shape[axis] for axis in axes])
    return _padded(list(shape), [strides[axes.index(axis)] for axis in range(len(shape))])


def _strides(shape: list[int] | tuple[int, ...]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _padded(sizes: list[int], strides: list[int]) -> tuple[list[int], list[int]]:
    """With axes of one element in front."""
    more = MOST_AXES - len(sizes)
    return [1] * more + sizes, [0] * more + strides
