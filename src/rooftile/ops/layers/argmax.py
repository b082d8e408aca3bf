"""The argmax of a fused max-pool: how its places are read and judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.ops.layers.pooling import Pool
from rooftile.ops.layers.positions import CUT, first_places, places_of
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Float64

Sums = Callable[..., Float64]

_WRONG = -2
"""No place: of a position that says otherwise than a result whether relu cut its window."""


def read_places(
    pool: Pool, size: tuple[int, int], cuts: bool, positions: AnyArray, y: AnyArray
) -> AnyArray:
    """The places of positions in windows; with ``cuts`` they must be `CUT` where relu cut.

    ``size`` has the rows and columns of the convolution, ``y`` the results.
    """
    places = places_of(pool, size, positions)
    cut = cuts & ~(y > 0)
    return np.where(cut == (places == CUT), places, _WRONG)


def wrong_places(
    pool: Pool, cuts: bool, sums: Sums, allowance: float, model: ErrorModel, *arrays: AnyArray
) -> str:
    """The defect of an argmax output; empty where it has none.

    ``sums`` is the convolution of an input by its parameters, ``allowance`` what an error may be in
    units of rounding of its terms; with ``cuts`` the place of a result that relu made zero may be
    `CUT`.  ``arrays`` are the results, the places, the input and the parameters.
    """
    y, argmax, x, *parameters = arrays
    with np.errstate(invalid="ignore", over="ignore"):
        z = sums(x, *parameters)
    size = z.shape[2:]
    row, column = np.divmod(argmax - first_places(pool, size), size[1])
    cut = (argmax == CUT) & cuts & ~(y > 0)
    inside = (row >= 0) & (row < pool.window[0]) & (column >= 0) & (column < pool.window[1])
    if not (inside | cut).all():
        return f"a place outside its window, at {_first(~(inside | cut))}"
    with np.errstate(invalid="ignore", over="ignore"):
        flat = z.reshape(*z.shape[:2], -1)
        planes = np.where(inside, argmax, 0).reshape(*z.shape[:2], -1)
        there = np.take_along_axis(flat, planes, axis=-1).reshape(argmax.shape)
        largest = pool.pooled(z)
        finite = (np.where(np.isfinite(one), one, 0) for one in (x, *parameters))
        terms = pool.pooled(sums(*(np.abs(one) for one in finite)))
        allowed = 2 * model.factor * model.unit * allowance * terms
        allowed += 2 * model.unit * np.abs(largest) + 2.0**-39 * terms.max(initial=0.0)
        close = (there == largest) | (largest - there <= allowed)
        right = np.where(np.isnan(largest), np.isnan(there), close)
    wrong = ~(right | cut)
    return (
        f"a place whose sum is not the window's largest, at {_first(wrong)}" if wrong.any() else ""
    )


def _first(wrong: AnyArray) -> tuple[int, ...]:
    """The index of the first element that is wrong."""
    return tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
