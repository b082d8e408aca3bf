"""Dense functions in NumPy's float64, by their definitions."""

from __future__ import annotations

import itertools

import numpy as np

MODES = {
    "zero": "constant",
    "replicate": "edge",
    "reflect": "reflect",
    "wrap": "wrap",
    "symmetric": "symmetric",
}
"""What `numpy.pad` calls a boundary."""


def extended(x, masks, boundary):
    """x with what a mask of these sizes meets around its last axes."""
    if boundary == "valid":
        return x
    around = [((size - 1) // 2, size // 2) for size in masks]
    return np.pad(x, [(0, 0)] * (x.ndim - len(masks)) + around, MODES[boundary])


def correlated(x, weights):
    """x[batch, channels, ...] under weights[maps, channels, ...], where nothing is missing."""
    x, weights = x.astype(np.float64), weights.astype(np.float64)
    sizes = [n - m + 1 for n, m in zip(x.shape[2:], weights.shape[2:], strict=True)]
    made = np.zeros((len(x), len(weights), *sizes))
    for tap in itertools.product(*map(range, weights.shape[2:])):
        seen = x[
            (slice(None), slice(None), *(slice(t, t + n) for t, n in zip(tap, sizes, strict=True)))
        ]
        made += np.einsum("nc...,mc->nm...", seen, weights[(slice(None), slice(None), *tap)])
    return made


def centred(x, weights, boundary):
    """The same with a boundary, of arrays without the first two axes."""
    wide, masks = x[None, None], weights[None, None]
    return correlated(extended(wide, weights.shape, boundary), masks)[0, 0]


def softmax(x, axis):
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cross_entropy(x, labels, weights, ignored, reduction):
    """The losses of rows x[rows, classes], and the gradient, as PyTorch has them."""
    p, rows = softmax(x, 1), np.arange(len(x))
    kept = labels != ignored
    classes = np.where(kept, labels, 0)
    factors = kept * (np.ones(len(x)) if weights is None else weights.astype(np.float64)[classes])
    loss, dx = -np.log(p[rows, classes]) * factors, p.copy()
    dx[rows, classes] -= 1
    dx *= factors[:, None]
    if reduction == "none":
        return loss, dx
    total = factors.sum() if reduction == "mean" else 1
    return loss.sum() / total, dx / total
