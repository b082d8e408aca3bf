"""A valid call of every public function, of a size that a number chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rooftile

Arguments = dict[str, Any]


def _floats(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def _bytes(*shape: int) -> Any:
    return np.random.default_rng(3).integers(0, 256, shape, np.uint8)


def _segments(n: int) -> Arguments:
    return {"x": _floats(n), "offsets": np.array([0, n // 3, n], np.int64), "operator": "sum"}


def _sparse(n: int) -> Any:
    dense = np.zeros((n, n), np.float32)
    dense[np.arange(n), np.arange(n)] = 2.0
    dense[np.arange(n - 1), np.arange(1, n)] = -0.5
    dense[np.arange(1, n), np.arange(n - 1)] = -0.5
    return rooftile.sparse(dense)


def _image(n: int) -> Arguments:
    return {"x": _floats(1, 2, 6, n + 4), "weights": _floats(3, 2, 3, 3)}


CALLS: dict[str, Callable[[int], Arguments]] = {
    "activation_gradient": lambda n: {"y": _floats(n), "dy": _floats(n), "activation": "relu"},
    "add": lambda n: {"a": _floats(n), "b": _floats(n)},
    "argreduce": lambda n: {"x": _floats(3, n), "operator": "max", "axis": 1},
    "argsort": lambda n: {"x": _floats(n), "axis": -1},
    "axpy": lambda n: {"alpha": 2.0, "x": _floats(n), "y": _floats(n)},
    "box_blur": lambda n: {"image": _bytes(5, n, 3), "radius": 2},
    "cg": lambda n: {"A": _sparse(min(n, 300)), "b": _floats(min(n, 300)), "tolerance": 1e-3},
    "compact": lambda n: {"x": _floats(n), "mask": np.arange(n) % 3 == 0},
    "conv1d": lambda n: {"x": _floats(n + 5), "mask": _floats(5), "boundary": "zero"},
    "conv2d": lambda n: {
        **_image(n), "bias": _floats(3), "stride": 1, "padding": 1, "activation": "relu",
        "pool": ("max", 2), "boundary": "zero", "precision": "ieee",
    },
    "conv2d_input_gradient": lambda n: {
        "dy": _floats(1, 3, 4, n + 2), "weights": _floats(3, 2, 3, 3), "size": (6, n + 4),
        "stride": 1, "padding": 0, "before": "none",
    },
    "conv2d_weights_gradient": lambda n: {
        "x": _floats(1, 2, 6, n + 4), "dy": _floats(1, 3, 4, n + 2), "mask": 3, "stride": 1,
        "padding": 0, "activation": "none",
    },
    "conv3d": lambda n: {"x": _floats(5, 6, n + 4), "mask": _floats(3, 3, 3), "boundary": "zero"},
    "equalize": lambda n: {"image": _bytes(5, n)},
    "from_packets": lambda n: {"packets": rooftile.to_packets(_sparse(min(n, 300)))},
    "grayscale": lambda n: {"image": _bytes(5, n, 3), "weights": (0.2, 0.7, 0.1)},
    "histogram": lambda n: {"x": _floats(n), "bins": 16, "range": (-1.0, 1.0)},
    "identify": lambda n: {"matrix": _sparse(min(n, 300)), "values": _floats(3 * min(n, 300) - 2)},
    "linear": lambda n: {
        "x": _floats(3, n), "weights": _floats(5, n), "bias": _floats(5), "activation": "relu",
    },
    "linear_gradient": lambda n: {
        "x": _floats(3, n), "y": _floats(3, 5), "dy": _floats(3, 5), "weights": _floats(5, n),
        "activation": "relu", "before": "none",
    },
    "load": lambda n: {"name_or_file": "mnist8"},
    "loss_gradient": lambda n: {
        "y": _floats(3, n), "targets": _floats(3, n), "loss": "squared_error",
    },
    "matmul": lambda n: {
        "a": _floats(3, n), "b": _floats(n, 5), "transpose_a": False, "transpose_b": False,
    },
    "matvec": lambda n: {"a": _floats(3, n), "x": _floats(n), "transpose": False},
    "partition": lambda n: {"x": _floats(n), "pivot": 0.5, "counted": False},
    "permute_columns": lambda n: {"x": _floats(3, n), "index": np.arange(n, dtype=np.int32)},
    "pool2d": lambda n: {
        "x": _floats(1, 2, 6, n + 4), "kind": "max", "window": 2, "stride": 2,
    },
    "pool2d_gradient": lambda n: {
        "x": _floats(1, 2, 6, 2 * n), "dy": _floats(1, 2, 3, n), "kind": "max", "window": 2,
        "stride": 2,
    },
    "pool2d_winners": lambda n: {"x": _floats(1, 2, 6, n + 4), "window": 2, "stride": 2},
    "reduce": lambda n: {"x": _floats(3, n), "operator": "sum", "axis": 1},
    "rotate": lambda n: {"x": _floats(n), "shift": 3},
    "scale": lambda n: {"alpha": 0.5, "x": _floats(n)},
    "scan": lambda n: {"x": _floats(n), "operator": "sum", "axis": -1, "exclusive": False},
    "scatter": lambda n: {
        "x": _floats(n), "index": np.arange(n, dtype=np.int32), "values": _floats(n),
        "function": "add",
    },
    "segmented_reduce": _segments,
    "segmented_scan": lambda n: {**_segments(n), "exclusive": False},
    "separable": lambda n: {
        "x": _floats(7, n + 4), "column": _floats(3), "row": _floats(5), "boundary": "zero",
    },
    "softmax": lambda n: {"x": _floats(3, n)},
    "softmax_cross_entropy": lambda n: {
        "x": _floats(3, n), "labels": np.zeros(3, np.int32), "divisor": 1,
    },
    "softmax_gradient": lambda n: {"y": _floats(3, n), "dy": _floats(3, n)},
    "sort": lambda n: {"x": _floats(n), "axis": -1},
    "sort_pairs": lambda n: {
        "x": _floats(n), "with_it": np.arange(n, dtype=np.int32), "axis": -1,
    },
    "sparse": lambda n: {
        "matrix": np.eye(min(n, 300), dtype=np.float32), "format": "csr", "dtype": "float32",
    },
    "spmm": lambda n: {
        "A": _sparse(min(n, 300)), "b": _floats(min(n, 300), 3), "transposed": False,
    },
    "spmv": lambda n: {
        "A": _sparse(min(n, 300)), "x": _floats(min(n, 300)), "alpha": 1.0, "beta": 0.0,
    },
    "stencil": lambda n: {
        "x": _floats(7, n + 4), "coefficients": _floats(5), "steps": 1, "boundary": "zero",
    },
    "to_packets": lambda n: {"matrix": _sparse(min(n, 300)), "size": 64},
    "transpose": lambda n: {"x": _floats(3, n), "axes": (1, 0)},
    "unique": lambda n: {"x": np.arange(n, dtype=np.int32) // 3},
}  # fmt: skip
"""By name: the arguments."""

FUNCTIONS = tuple(
    name
    for name in rooftile.__all__
    if callable(getattr(rooftile, name)) and not isinstance(getattr(rooftile, name), type)
)
