"""Weighted sums over grids: 3D convolution, and time steps of stencils."""

from __future__ import annotations

import math
from typing import Any, cast, get_args

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.functional.padding import PADDED_VOLUMES, Around, around, centred, is_padded
from rooftile.ops import Precision
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.stencil import Stencil
from rooftile.ops.patterns.volumes import Boundary
from rooftile.ops.problem import Computed
from rooftile.runtime.arguments import ANY, Arguments, Array, computed_in
from rooftile.runtime.calls.fast_path import repeated


@repeated("x", "mask")
def conv3d(
    x: Array,
    mask: Array,
    *,
    boundary: Around = "zero",
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``x * mask``; ``*`` is cross-correlation.

    x[depth, height, width] and mask[d, h, w] give y[planes, rows, columns]; x[batch, channels,
    depth, height, width] and mask[maps, channels, d, h, w] give y[batch, maps, planes, rows,
    columns], summed over the channels. With the boundary ``zero`` elements outside of x are zero, y
    has x's size, and the tap ``(size - 1) // 2`` of each axis is on the output. Elements outside
    may also ``replicate`` the nearest element, ``reflect``, ``wrap`` or be ``symmetric``, as
    `rooftile.conv1d` has them. With ``valid`` only outputs without such elements are computed, so y
    has ``size - mask + 1`` along each axis, and a mask larger than x is refused.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 7.
    """
    if is_padded(boundary, get_args(Boundary), PADDED_VOLUMES):
        # A call of its own: a call that is kept reads x without a copy.
        options: Any = {"precision": precision, "strategy": strategy, "device": device, "out": out}
        extended: Array = around(x, centred(mask, 3), boundary)
        made: Array = conv3d(extended, mask, boundary="valid", **options)
        return made
    known = cast(Boundary, boundary)
    given = Arguments(x, double=True)
    volumes = given.take("x", x, ANY)
    rank = len(volumes.shape)
    if rank not in (3, 5):
        expected = "3: [depth, height, width], or 5: [batch, channels, depth, height, width]"
        raise InputError("x", f"{rank} axes {tuple(volumes.shape)}", expected)
    weights = given.take("mask", mask, "d, h, w" if rank == 3 else "maps, channels, d, h, w")
    dtype = computed_in(given.dtype)
    problem = conv3d_problem(tuple(volumes.shape), tuple(weights.shape), known, dtype)
    return run(given, problem, [volumes], {"weights": weights}, precision, strategy, device, out)


@remembered
def conv3d_problem(
    x: tuple[int, ...], mask: tuple[int, ...], boundary: Boundary, dtype: Computed = "float32"
) -> Conv3d:
    """The problem of volumes and masks of these shapes.  Raises `InputError`."""
    depth, height, width = x[-3:]
    d, h, w = mask[-3:]
    if len(x) == 3:
        return Conv3d(depth, height, width, (d, h, w), boundary, dtype=dtype)
    if mask[1] != x[1]:
        raise InputError("mask", f"{mask[1]} channels", f"x's {x[1]} channels")
    sizes = x[0], x[1], mask[0]
    return Conv3d(depth, height, width, (d, h, w), boundary, *sizes, "batch", dtype)


@repeated("x", "coefficients")
def stencil(
    x: Array,
    coefficients: Array,
    *,
    steps: int = 1,
    boundary: Around = "zero",
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``steps`` time steps of a stencil: each cell becomes the weighted sum of its neighbours.

    x has 2 or 3 axes, and how many coefficients there are says which stencil it is.  In 2D: 5 (the
    cell and its neighbours on the axes) or 9 (a box of 3x3).  In 3D: 7, 13 or 25 (a star that
    reaches 1, 2 or 4 cells along each axis) or 27 (a box of 3x3x3).  They come in the order in
    which the neighbours lie in memory, offsets rising: of 5, (-1,0), (0,-1), (0,0), (0,1), (1,0).
    With the boundary ``zero`` the cells outside of x are zero before each step, and y has x's
    shape; so it has with ``replicate``, ``reflect``, ``wrap`` and ``symmetric``, as `conv3d` has
    them, for which each step is a call of its own.  With ``valid`` each step takes
    what the stencil reaches from each side.

    Source: Micikevicius, "3D Finite Difference Computation on GPUs using CUDA", GPGPU-2 (2009).
    """
    if is_padded(boundary, get_args(Boundary), PADDED_VOLUMES):
        options = {"precision": precision, "strategy": strategy, "device": device}
        return _stepped(x, coefficients, steps, boundary, options, out)
    given = Arguments(x)
    grid = given.take("x", x, ANY)
    weights = given.take("coefficients", coefficients, "points")
    problem = _stencil(tuple(grid.shape), weights.shape[0], steps, cast(Boundary, boundary))
    parameters = {"coefficients": weights}
    return run(given, problem, [grid], parameters, precision, strategy, device, out)


def _stepped(
    x: Array, coefficients: Array, steps: int, boundary: str, options: Any, out: Array | None
) -> Array:
    """Each step on a grid with ghost cells of its own."""
    points = math.prod(getattr(coefficients, "shape", ()))
    grid = _stencil(tuple(getattr(x, "shape", ())), points, steps, "zero")
    widths = ((grid.radius, grid.radius),) * grid.rank
    for step in range(steps):
        to = out if step == steps - 1 else None
        extended = around(x, widths, boundary)
        x = stencil(extended, coefficients, boundary="valid", out=to, **options)
    return x


_stencil = remembered(Stencil)
