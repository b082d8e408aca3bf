"""`scipy.ndimage` under our boundaries: a peer of the filters."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.ops import AnyArray

_MODES = {"replicate": "nearest"}
"""Modes for elements beyond the ends; else zeros."""


def correlated(x: AnyArray, mask: AnyArray, boundary: str) -> AnyArray:
    """The cross-correlation of x with a mask of as many axes.

    The mask's centre is element ``(size - 1) // 2`` of each axis.  With ``valid`` only outputs that
    meet no ghost cell are kept.
    """
    from scipy import ndimage

    made: Any = ndimage.correlate(
        x, mask, mode=_MODES.get(boundary, "constant"), origin=tuple(map(_origin, mask.shape))
    )
    return inside(made, mask.shape) if boundary == "valid" else np.asarray(made)


def correlated_along(x: AnyArray, mask: AnyArray, axis: int, boundary: str) -> AnyArray:
    """The same with a mask of one axis, along one of x's."""
    from scipy import ndimage

    made: Any = ndimage.correlate1d(
        x, mask, axis, mode=_MODES.get(boundary, "constant"), origin=_origin(len(mask))
    )
    if boundary != "valid":
        return np.asarray(made)
    sizes = [1] * x.ndim
    sizes[axis] = len(mask)
    return inside(made, tuple(sizes))


def inside(made: AnyArray, mask: tuple[int, ...]) -> AnyArray:
    """The outputs whose mask meets no ghost cell."""
    pairs = zip(made.shape, mask, strict=True)
    return made[tuple(slice((size - 1) // 2, n - size // 2) for n, size in pairs)]


def _origin(size: int) -> int:
    """SciPy has the centre of an even mask one element later."""
    return 0 if size % 2 else -1
