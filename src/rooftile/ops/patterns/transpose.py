"""`transpose`: an array with its axes in another order, its elements moved to match.

``y[i_axes[0], i_axes[1], ...] = x[i_0, i_1, ...]``, as NumPy's `transpose` followed by a copy.

Source: Ruetsch, Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype, Problem

_SHRUNK = 2**10
"""Rows and columns of the problem that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Transpose(Problem):
    """y = x[shape] with its axes permuted; ``axes`` are NumPy's, without any all are reversed.

    Raises `InputError` for axes that are no permutation, an unknown dtype and an empty array.
    """

    operation: ClassVar[str] = "transpose"
    words: ClassVar[str] = "{shape} {dtype}, axes in the order {axes!s}"

    shape: tuple[int, ...]
    axes: tuple[int, ...] = ()
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        rank = len(self.shape)
        if not self.axes:
            object.__setattr__(self, "axes", tuple(reversed(range(rank))))
        if sorted(self.axes) != list(range(rank)):
            raise InputError("axes", self.axes, f"a permutation of 0 to {rank - 1}")
        if self.dtype not in DTYPES:
            raise unknown("dtype", self.dtype, DTYPES)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape], and y with the axes in their order."""
        shape = tuple(self.shape[axis] for axis in self.axes)
        return Array("x", self.shape, self.dtype), Array("y", shape, self.dtype, role="output")

    @property
    def count(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.arrays[0].numpy.itemsize

    @property
    def flops(self) -> int:
        """A move for each element, which stands for an operation."""
        return self.count

    @cached_property
    def merged(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and axes without axes of one element, those that stay neighbours being one."""
        kept = [axis for axis in self.axes if self.shape[axis] > 1]
        runs: list[list[int]] = []
        before = None
        for axis in kept:
            # Between two neighbours there may have been axes of one element.
            if (
                before is not None
                and axis > before
                and not any(self.shape[other] > 1 for other in range(before + 1, axis))
            ):
                runs[-1].append(axis)
            else:
                runs.append([axis])
            before = axis
        order = sorted(range(len(runs)), key=lambda run: runs[run][0])
        shape = tuple(math.prod(self.shape[axis] for axis in runs[run]) for run in order)
        return shape, tuple(order.index(run) for run in range(len(runs)))

    @cached_property
    def matrices(self) -> tuple[int, int, int] | None:
        """x as ``(batch, rows, columns)`` where every matrix is transposed; None where it is
        another permutation."""
        shape, axes = self.merged
        if axes == (1, 0):
            return 1, *shape  # type: ignore[return-value]
        return shape if axes == (0, 2, 1) else None  # type: ignore[return-value]

    def reference(self, x: AnyArray) -> AnyArray:
        """The elements as they are."""
        return x.transpose(self.axes)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Exactly: elements are moved."""
        return Exact()

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """See `Problem.hard`; many decades are infinities in 16 bits, too."""
        with np.errstate(over="ignore"):
            return super().hard(seed)

    def shrunk(self) -> Transpose:
        shape = tuple(min(size, _SHRUNK) for size in self.shape)
        return dataclasses.replace(self, shape=shape)

    def neighbours(self) -> tuple[Transpose, ...]:
        rank = len(self.shape)
        primes = (dataclasses.replace(self, shape=((7, 5, 67, 41) * rank)[-rank:]),)
        if rank < 2:
            return primes
        return (*primes, dataclasses.replace(self, shape=((2, 3, 72, 200) * rank)[-rank:]))

    def smallest(self) -> tuple[Transpose, ...]:
        return (dataclasses.replace(self, shape=(1,) * len(self.shape)),)


NAMED = {
    "matrix-1024": Transpose((1024, 1024)),
    "matrix-8192": Transpose((8192, 8192)),
    "matrix-16384": Transpose((16384, 16384)),
    "matrix-16384-fp16": Transpose((16384, 16384), dtype="float16"),
    "matrix-16384-bytes": Transpose((16384, 16384), dtype="uint8"),
    "batch-64x1000x1000": Transpose((64, 1000, 1000), (0, 2, 1)),
    "nchw-to-nhwc": Transpose((64, 64, 56, 56), (0, 2, 3, 1)),
    "prime-4099": Transpose((4099, 4099)),
}
LARGE = Climbed.of("matrix-8192")
