"""`equalize` in NumPy, whose functions are composed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.equalize import LEVELS, Equalize, gray_levels, table_of


def numpy_function(problem: Equalize, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """Gray levels, `numpy.bincount`, `numpy.cumsum`, and every byte by the table."""

    def equalized(image: AnyArray) -> AnyArray:
        levels = gray_levels(image) if problem.channels == 3 else image
        counts = np.bincount(levels.reshape(-1), minlength=LEVELS)
        return table_of(counts)[image]

    return equalized
