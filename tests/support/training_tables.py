"""A table of the banknote data's shape: four features, two classes that no plane parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def generated(rows: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """float64[rows, 4] with the data's ranges, and labels[rows], 44 % of them 1."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(rows) < 0.445).astype(np.int64)
    angle = generator.uniform(0, np.pi, rows)
    sign = 1 - 2 * labels
    x = 4 * np.cos(angle) + 4 * labels - 2
    y = 7 * np.sin(angle) * sign + 3.5 * labels
    noise = 0.3 * generator.standard_normal((4, rows))
    features = [x, y, 4 - 0.9 * y, 0.5 * x - 2 * labels * np.sin(angle)]
    return np.stack(
        [own + own_noise for own, own_noise in zip(features, noise, strict=True)], 1
    ), labels
