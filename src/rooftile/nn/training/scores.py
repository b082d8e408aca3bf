"""Scores of a classifier: confusion matrix, precision and recall; and the fit of a regression.

Source: Murphy, "Probabilistic Machine Learning: An Introduction" (2022), section 5.1.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Scores:
    """Counts of rows by actual class (rows) and predicted class (columns)."""

    confusion: NDArray[np.int64]

    @classmethod
    def of(
        cls, labels: NDArray[np.integer[Any]], predicted: NDArray[np.int64], classes: int
    ) -> Scores:
        """Of labels[n] and predicted[n], all below the number of classes."""
        counts = np.zeros((classes, classes), np.int64)
        np.add.at(counts, (labels, predicted), 1)
        return cls(counts)

    @property
    def right(self) -> int:
        """Rows whose class was predicted."""
        return int(self.confusion.trace())

    @property
    def total(self) -> int:
        """Rows."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows whose class was predicted."""
        return self.right / self.total

    def precision(self, label: int) -> float | None:
        """Share of what was predicted as a class that is of it; None where nothing was."""
        return _share(self.confusion[label, label], self.confusion[:, label].sum())

    def recall(self, label: int) -> float | None:
        """Share of a class's rows that were predicted as it; None where there are none."""
        return _share(self.confusion[label, label], self.confusion[label].sum())


@dataclass(frozen=True)
class Fit:
    """The fit of a regression's outputs to their targets.

    Source: Murphy, section 11.2.4.
    """

    total: int
    """Rows."""
    mean_squared_error: float
    """The mean of all rows and outputs."""
    r2: float | None
    """The share of the targets' variance that the outputs explain; None where there is none."""

    @classmethod
    def of(cls, targets: NDArray[Any], outputs: NDArray[Any]) -> Fit:
        """Of targets[n, outputs] and outputs of the same shape."""
        off = outputs.astype(np.float64) - targets
        spread = float(((targets - targets.mean(axis=0)) ** 2).sum())
        r2 = None if spread == 0 else 1 - float((off**2).sum()) / spread
        return cls(len(targets), float((off**2).mean()), r2)


def _share(part: np.int64, whole: np.int64) -> float | None:
    return float(part / whole) if whole else None
