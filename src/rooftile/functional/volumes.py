"""Weighted sums over grids: 3D convolution, and time steps of stencils."""

from __future__ import annotations

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.ops import Precision
from rooftile.ops.conv3d import Conv3d
from rooftile.ops.stencil import Stencil
from rooftile.ops.volumes import Boundary
from rooftile.runtime.arguments import ANY, Arguments, Array
from rooftile.runtime.repeats import repeated


@repeated("x", "mask")
def conv3d(
    x: Array,
    mask: Array,
    *,
    boundary: Boundary = "zero",
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``x * mask``; ``*`` is cross-correlation.

    x[depth, height, width] and mask[d, h, w] give y[planes, rows, columns];
    x[batch, channels, depth, height, width] and mask[maps, channels, d, h, w] give
    y[batch, maps, planes, rows, columns], summed over the channels.  With the boundary ``zero``
    what lies outside of x is zero, y has x's size, and the tap ``(size - 1) // 2`` of each axis
    lies on the output; with ``valid`` only what needs no such zeros is computed, so y has
    ``size - mask + 1`` along each axis, and a mask larger than x is refused.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 7.
    """
    given = Arguments(x)
    volumes = given.take("x", x, ANY)
    rank = len(volumes.shape)
    if rank not in (3, 5):
        expected = "3: [depth, height, width], or 5: [batch, channels, depth, height, width]"
        raise InputError("x", f"{rank} axes {tuple(volumes.shape)}", expected)
    weights = given.take("mask", mask, "d, h, w" if rank == 3 else "maps, channels, d, h, w")
    problem = conv3d_problem(tuple(volumes.shape), tuple(weights.shape), boundary)
    return run(given, problem, [volumes], {"weights": weights}, precision, strategy, device, out)


@remembered
def conv3d_problem(x: tuple[int, ...], mask: tuple[int, ...], boundary: Boundary) -> Conv3d:
    """The problem of volumes and masks of these shapes.  Raises `InputError`."""
    depth, height, width = x[-3:]
    d, h, w = mask[-3:]
    if len(x) == 3:
        return Conv3d(depth, height, width, (d, h, w), boundary)
    if mask[1] != x[1]:
        raise InputError("mask", f"{mask[1]} channels", f"x's {x[1]} channels")
    return Conv3d(depth, height, width, (d, h, w), boundary, x[0], x[1], mask[0], "batch")


@repeated("x", "coefficients")
def stencil(
    x: Array,
    coefficients: Array,
    *,
    steps: int = 1,
    boundary: Boundary = "zero",
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
    shape; with ``valid`` each step takes what the stencil reaches from each side.

    Source: Micikevicius, "3D Finite Difference Computation on GPUs using CUDA", GPGPU-2 (2009).
    """
    given = Arguments(x)
    grid = given.take("x", x, ANY)
    weights = given.take("coefficients", coefficients, "points")
    problem = _stencil(tuple(grid.shape), weights.shape[0], steps, boundary)
    parameters = {"coefficients": weights}
    return run(given, problem, [grid], parameters, precision, strategy, device, out)


_stencil = remembered(Stencil)
