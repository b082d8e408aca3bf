"""The loss that training minimises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def cross_entropy(scores: Array, labels: NDArray[np.integer[Any]]) -> tuple[float, Array]:
    """Mean softmax cross-entropy of scores[n, classes], in nats, and its gradient.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.2.2.3.
    """
    rows = np.arange(len(labels))
    shifted = scores - scores.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=1, keepdims=True)
    gradient: Array = exponentials / sums
    gradient[rows, labels] -= 1
    gradient /= len(labels)
    losses = np.log(sums[:, 0]) - shifted[rows, labels]
    return math.fsum(losses) / len(labels), gradient
