"""The argmax of a max-pool's window: by its place, or by its position in the window.

A place is row * columns + column of the pool's input, int32.  A position is row * columns + column
of the window, uint8; it is 255 where relu cut the window's result: no element has a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.ops.layers.pooling import Pool

NO_WINNER = 255
"""The position of a window whose result relu cut."""
CUT = -1
"""The place of such a window."""


def first_places(pool: Pool, size: tuple[int, int]) -> NDArray[np.int32]:
    """The place of each window's first element in a pool's input of a size."""
    (rows, columns), (down, across) = pool.output_size(*size), pool.stride
    first = down * np.arange(rows)[:, None] * size[1] + across * np.arange(columns)
    return first.astype(np.int32)


def positions_of(pool: Pool, size: tuple[int, int], places: NDArray[Any]) -> NDArray[np.uint8]:
    """Places, or `CUT`, as positions."""
    row, column = np.divmod(places - first_places(pool, size), size[1])
    return np.where(places == CUT, NO_WINNER, row * pool.window[1] + column).astype(np.uint8)


def places_of(pool: Pool, size: tuple[int, int], positions: NDArray[Any]) -> NDArray[np.int32]:
    """Positions as places; `CUT` where there is none."""
    row, column = np.divmod(positions.astype(np.int32), pool.window[1])
    found = first_places(pool, size) + row * size[1] + column
    return np.where(positions == NO_WINNER, CUT, found).astype(np.int32)
