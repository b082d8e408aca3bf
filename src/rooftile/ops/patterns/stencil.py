"""`stencil`: time steps of a stencil with constant coefficients on a grid.

One step replaces each cell by the weighted sum of its neighbours, itself included: ``y[r] = sum_k
coefficients[k] * x[r + offset[k]]``. The coefficients come in the order in which a cell's
neighbours lie in memory, see `offsets_of`.

Source: Micikevicius, "3D Finite Difference Computation on GPUs using CUDA", GPGPU-2 (2009); PMPP,
chapter 8.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive, check_reach
from rooftile.ops.climbed import Climbed
from rooftile.ops.draws import Draw
from rooftile.ops.features import SIZE
from rooftile.ops.patterns.volumes import (
    Boundary,
    Size3,
    check_boundary,
    padded,
    weighted_sums,
)
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem

_RADII = {(2, 5): 1, (2, 9): 1, (3, 7): 1, (3, 13): 2, (3, 25): 4, (3, 27): 1}
"""Each stencil's radius, by rank and points."""
_BOXES = {(2, 9), (3, 27)}
"""Stencils with all neighbours; the others are stars, whose points are on the axes."""
_SHRUNK = 2**18
"""Elements of the grid that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Stencil(Problem):
    """``steps`` steps of x[shape] with coefficients[points], of 2 or 3 axes.

    2D: 5 points (star), 9 (box of 3x3); 3D: 7, 13 and 25 points (stars that reach 1, 2 and 4
    cells), 27 (box of 3x3x3).  With the boundary ``zero`` the cells outside of the grid are zero
    before each step; with ``valid`` the grid loses what a stencil reaches, on each side in each
    step.  Raises `InputError` for other points or boundaries, and where no cell is left.
    """

    operation: ClassVar[str] = "stencil"
    words: ClassVar[str] = (
        "{steps} steps of {points} points on a grid of {shape}, border {boundary}"
    )
    channels: ClassVar[int] = 1
    maps: ClassVar[int] = 1
    images: ClassVar[int] = 1

    shape: tuple[int, ...]
    points: int
    steps: int = field(default=1, metadata=SIZE)
    boundary: Boundary = "zero"

    def __post_init__(self) -> None:
        if len(self.shape) not in (2, 3):
            raise InputError("x", f"{len(self.shape)} axes", "2 or 3")
        check_positive(**{f"axis {i} of x": size for i, size in enumerate(self.shape)})
        if (self.rank, self.points) not in _RADII:
            possible = [points for rank, points in _RADII if rank == self.rank]
            raise InputError(
                "coefficients", f"{self.points} numbers", f"one of {possible} in {self.rank}D"
            )
        check_reach(steps=self.steps)
        check_boundary(self.boundary)
        if min(self.output_shape) < 1:
            lost = 2 * self.radius * self.steps
            raise InputError("x", f"the shape {self.shape}", f"more than {lost} along each axis")

    def draw(self, draw: Draw) -> Stencil:
        shape = tuple(draw.size(8, 4096 if self.rank == 2 else 512) for _ in self.shape)
        return dataclasses.replace(self, shape=shape, steps=draw.one((1, 1, 1, 4, 10)))

    @property
    def rank(self) -> int:
        """Axes of the grid."""
        return len(self.shape)

    @property
    def radius(self) -> int:
        """Number of cells that the stencil reaches along each axis."""
        return _RADII[self.rank, self.points]

    @property
    def star(self) -> bool:
        """True if its points are on the axes."""
        return (self.rank, self.points) not in _BOXES

    @property
    def offsets(self) -> tuple[tuple[int, ...], ...]:
        """Each coefficient's cell, relative to the computed cell."""
        return offsets_of(self.rank, self.points)

    @property
    def size(self) -> Size3:
        """Depth, height and width of the grid; a plane has the depth 1."""
        return _three(self.shape)

    @property
    def mask(self) -> Size3:
        """Planes, rows and columns of the smallest box that holds the stencil."""
        return _three((2 * self.radius + 1,) * self.rank)

    @property
    def crop(self) -> Size3:
        """Planes, rows and columns that the result has lost on each side."""
        if self.boundary == "zero":
            return 0, 0, 0
        depth, height, width = (size // 2 * self.steps for size in self.mask)
        return depth, height, width

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Of the result."""
        lost = 2 * self.radius * self.steps if self.boundary == "valid" else 0
        return tuple(size - lost for size in self.shape)

    @property
    def output_size(self) -> Size3:
        """Planes, rows and columns of the result."""
        return _three(self.output_shape)

    @property
    def places(self) -> tuple[Size3, ...]:
        """Each point's plane, row and column in the mask."""
        return tuple(
            _added(_three(offset, 0), tuple(size // 2 for size in self.mask))
            for offset in self.offsets
        )

    def dense(self, weights: AnyArray) -> AnyArray:
        box = np.zeros((1, 1, *self.mask), weights.dtype)
        for place, weight in zip(self.places, weights, strict=True):
            box[0, 0][place] = weight
        return box

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x[shape], coefficients[points] and out."""
        return (
            Array("x", self.shape),
            Array("coefficients", (self.points,), role="parameter"),
            Array("out", self.output_shape, role="output"),
        )

    @property
    def reduction(self) -> int:
        """Points of all steps: the rounding errors of one step go through those that follow."""
        return self.points * self.steps

    @property
    def flops(self) -> int:
        """Two for each point of each cell of the result in each step."""
        return 2 * self.steps * self.points * math.prod(self.output_shape)

    def shrunk(self) -> Stencil:
        first = max(1, _SHRUNK // math.prod(self.shape[1:]))
        first = max(first, 1 + self.shape[0] - self.output_shape[0])
        return dataclasses.replace(self, shape=(min(self.shape[0], first), *self.shape[1:]))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal numbers, and coefficients with which a grid neither grows nor vanishes."""
        x, coefficients = super().random(seed)
        return x, (coefficients / np.float32(math.sqrt(self.points))).astype(np.float32)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """See `Problem.hard`; the coefficients of several steps are ordinary ones, since powers of
        others lie beyond float32 before the last step."""
        kinds = super().hard(seed)
        if self.steps == 1:
            return kinds
        _, coefficients = self.random(seed)
        return {kind: (arrays[0], coefficients.copy()) for kind, arrays in kinds.items()}

    def reference(self, x: Float32, *parameters: Float32) -> Float64:
        """The result in float64, step by step."""
        (coefficients,) = parameters
        taps = [(0, *place) for place in self.places]
        grid: Float64 = x.reshape(1, 1, *self.size).astype(np.float64)
        for _ in range(self.steps):
            ghosted = padded(grid, self.mask, self.boundary)
            depth, height, width = (
                n - m + 1 for n, m in zip(ghosted.shape[2:], self.mask, strict=True)
            )
            grid = weighted_sums(ghosted, taps, coefficients[None], (depth, height, width))
        return grid.reshape(self.output_shape)

    def magnitude(self, x: Float32, *parameters: Float32) -> Float64:
        """The result of the magnitudes."""
        return self.reference(np.abs(x), *map(np.abs, parameters))

    def neighbours(self) -> tuple[Stencil, ...]:
        lost = 0 if self.boundary == "zero" else 2 * self.radius * self.steps
        sizes = ((7, 11, 13), (1, 5, 67), (5, 19, 137))
        return tuple(
            dataclasses.replace(self, shape=tuple(n + lost for n in size[-self.rank :]))
            for size in sizes
        )

    def smallest(self) -> tuple[Stencil, ...]:
        lost = 0 if self.boundary == "zero" else 2 * self.radius * self.steps
        return (dataclasses.replace(self, shape=(1 + lost,) * self.rank),)


@cache
def offsets_of(rank: int, points: int) -> tuple[tuple[int, ...], ...]:
    """The offsets of a stencil's points, in rising order: that of memory.

    Of 7 points: (-1,0,0), (0,-1,0), (0,0,-1), (0,0,0), (0,0,1), (0,1,0), (1,0,0).
    """
    radius, box = _RADII[rank, points], (rank, points) in _BOXES
    reach = range(-radius, radius + 1)
    return tuple(
        offset
        for offset in product(reach, repeat=rank)
        if box or sum(step != 0 for step in offset) <= 1
    )


def _three(numbers: tuple[int, ...], first: int = 1) -> Size3:
    """Three numbers for two or three axes: ``first`` stands for the one that is missing."""
    depth, height, width = (first,) * (3 - len(numbers)) + tuple(numbers)
    return depth, height, width


def _added(a: tuple[int, ...], b: tuple[int, ...]) -> Size3:
    planes, rows, columns = map(sum, zip(a, b, strict=True))
    return planes, rows, columns


NAMED = {
    "star-7-256": Stencil((256, 256, 256), 7),
    "star-7": Stencil((512, 512, 512), 7),
    "star-25": Stencil((512, 512, 512), 25),
    "star-7-steps-8": Stencil((512, 512, 512), 7, 8),
    "box-27": Stencil((512, 512, 512), 27),
    "star-13": Stencil((512, 512, 512), 13),
    "star-5": Stencil((16384, 16384), 5),
    "box-9-steps-8": Stencil((16384, 16384), 9, 8),
    "star-7-small": Stencil((64, 64, 64), 7, 2),
    "box-9-small": Stencil((256, 256), 9),
}
TEXTBOOK = Climbed.of("star-7-small")
