"""Sizes, FLOPs and parameters of a network's layers.

Source: PMPP, sections 16.2 to 16.4.  A multiplication and an addition are two FLOP.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rooftile.analysis._checks import check_sizes
from rooftile.errors import InputError
from rooftile.ops import Conv2d
from rooftile.ops.checks import check_positive


@dataclass(frozen=True)
class Unrolled:
    """The matrix that im2col makes of one image."""

    rows: int
    """channels x mask area: one a tap."""
    columns: int
    """One a convolution output."""
    replication: float
    """Elements of the matrix over elements of the image."""


def unrolled(problem: Conv2d) -> Unrolled:
    """channels mask^2 rows by (height_out width_out) columns.  PMPP, section 16.4.

    Without padding and pool, replication = rows columns / (channels height width), which tends
    to the mask's area for large images.
    """
    rows = problem.reduction - 1
    columns = problem.conv_size[0] * problem.conv_size[1]
    image = problem.channels * problem.height * problem.width
    return Unrolled(rows, columns, rows * columns / image)


def conv_flops(maps: int, channels: int, mask: int, rows: int, columns: int, batch: int = 1) -> int:
    """2 batch maps channels mask^2 rows columns, with ``rows`` x ``columns`` outputs a map.

    As `rooftile.ops.Conv2d` counts, where the input's size is not given.
    """
    check_positive(maps=maps, channels=channels, mask=mask, rows=rows, columns=columns, batch=batch)
    return 2 * batch * maps * channels * mask * mask * rows * columns


def padded_size(out: int, mask: int) -> int:
    """Side of the input with its ghost cells: out + mask - 1."""
    check_positive(out=out, mask=mask)
    return out + mask - 1


def pooled_size(size: int, window: int) -> int:
    """Side after pooling with window and stride alike: floor(size / window)."""
    check_positive(size=size, window=window)
    if window > size:
        raise InputError("window", window, f"at most the side, {size}")
    return size // window


def matmul_flops(m: int, k: int, n: int) -> int:
    """2 m k n: of an m x k by k x n product."""
    check_positive(m=m, k=k, n=n)
    return 2 * m * k * n


def mlp_parameters(widths: Sequence[int]) -> tuple[int, int]:
    """Weights and biases of a fully connected network with these layer widths, input first.

    weights = sum of products of neighbouring widths, biases = sum of all widths but the first.
    """
    sizes = check_sizes("widths", widths)
    if len(sizes) < 2:
        raise InputError("widths", list(widths), "an input's and at least one layer's")
    return sum(a * b for a, b in itertools.pairwise(sizes)), sum(sizes[1:])
