"""float64 in dense functions: as exact as NumPy on the CPU, and refused in the open elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.functional.padding import PADDED
from rooftile.ops.boundary import BOUNDARIES

from . import plain

GENERATOR = np.random.default_rng(0)
A, B = GENERATOR.standard_normal((17, 31)), GENERATOR.standard_normal((31, 13))
IMAGES, MASKS = (GENERATOR.standard_normal(shape) for shape in ((3, 2, 9, 11), (4, 2, 3, 2)))


def close(made, expected):
    assert made.dtype == np.float64
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-13)


def test_products():
    close(rooftile.matmul(A, B), A @ B)
    close(rooftile.matmul(A.T, A), A.T @ A)
    close(rooftile.matmul(A, A, transpose_b=True), A @ A.T)
    close(rooftile.matvec(A, B[:, 0]), A @ B[:, 0])
    close(rooftile.matvec(A, A[:, 0], transpose=True), A.T @ A[:, 0])
    out = np.empty((17, 13))
    assert rooftile.matmul(A, B, out=out) is out
    close(out, A @ B)
    close(rooftile.matmul(A[:0], B), A[:0] @ B)


@pytest.mark.parametrize("activation", ["none", "relu", "sigmoid", "tanh"])
def test_linear(activation):
    z = A @ B + B[0]
    expected = {
        "none": z, "relu": np.maximum(z, 0), "sigmoid": 1 / (1 + np.exp(-z)), "tanh": np.tanh(z)
    }  # fmt: skip
    close(rooftile.linear(A, B.T, B[0], activation=activation), expected[activation])


@pytest.mark.parametrize("boundary", [*BOUNDARIES, *PADDED])
def test_conv1d(boundary):
    x, mask = A[0], B[:4, 0]
    expected = plain.centred(x, mask, "zero" if boundary == "interior" else boundary)
    if boundary == "interior":
        expected[:1] = expected[-2:] = 0
    close(rooftile.conv1d(x, mask, boundary=boundary), expected)
    several, masks = IMAGES[:, :, 0], MASKS[:, :, :, 0]
    expected = plain.correlated(several, masks)
    close(rooftile.conv1d(several, masks, boundary="valid"), expected)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("pool", [None, "max", "average", "l2"])
def test_conv2d(stride, pool):
    padded = np.pad(IMAGES, ((0, 0), (0, 0), (1, 1), (2, 2)))
    bias = B[0, :4]
    z = plain.correlated(padded, MASKS)[:, :, ::stride, ::stride] + bias[:, None, None]
    y = np.maximum(z, 0)
    if pool is not None:
        rows, columns = (n // 2 * 2 for n in y.shape[2:])
        windows = y[:, :, :rows, :columns].reshape(*y.shape[:2], rows // 2, 2, columns // 2, 2)
        of = {"max": np.max, "average": np.mean, "l2": lambda w, axis: np.sqrt((w**2).sum(axis))}
        y = of[pool](windows, axis=(3, 5))
    spec = None if pool is None else (pool, 2)
    made = rooftile.conv2d(
        IMAGES, MASKS, bias, stride=stride, padding=(1, 2), activation="relu", pool=spec
    )
    close(made, y)


def test_conv3d_and_separable():
    volume, mask = GENERATOR.standard_normal((5, 6, 7)), GENERATOR.standard_normal((3, 2, 3))
    close(rooftile.conv3d(volume, mask), plain.centred(volume, mask, "zero"))
    batch, masks = volume[None, None].repeat(2, 1), mask[None, None].repeat(2, 1)
    close(rooftile.conv3d(batch, masks, boundary="valid"), plain.correlated(batch, masks))
    column, row = B[:3, 0], B[:4, 1]
    expected = plain.centred(A, column[:, None] * row, "replicate")
    close(rooftile.separable(A, column, row, boundary="replicate"), expected)
    close(rooftile.separable(A[None], column, row, boundary="replicate"), expected[None])


def test_values_beyond_float32():
    x = np.array([[1e300, 1e-300, 1 + 2**-40]])
    close(rooftile.linear(x, np.eye(3)), x)
    close(rooftile.matmul(x, np.eye(3)), x)


def test_others_are_refused():
    with pytest.raises(InputError, match=r"weights: got dtype float32; expected float64"):
        rooftile.conv2d(IMAGES, MASKS.astype(np.float32))
    with pytest.raises(InputError, match=r"weights: got dtype float64; expected float32"):
        rooftile.conv2d(IMAGES.astype(np.float32), MASKS)
    with pytest.raises(InputError, match=r"precision: got 'fp16'"):
        rooftile.matmul(A, B, precision="fp16")
    with pytest.raises(UnsupportedProblem, match=r"loops.*float64"):
        rooftile.conv2d(IMAGES, MASKS, strategy="loops")
    with pytest.raises(UnsupportedProblem, match=r"double.*float32"):
        rooftile.matmul(A.astype(np.float32), B.astype(np.float32), strategy="double")
    with pytest.raises(InputError, match="f8"):
        rooftile.softmax(A)


@pytest.mark.parametrize("kind", ["opencl", "cuda"])
@pytest.mark.parametrize("name", ["matmul", "matvec", "linear", "conv1d", "conv2d", "conv3d"])
def test_no_gpu_computes_in_float64(name, kind):
    from rooftile.ops.layers.conv2d import Conv2d
    from rooftile.ops.layers.linear import Linear
    from rooftile.ops.patterns.conv1d import Conv1d
    from rooftile.ops.patterns.conv3d import Conv3d
    from rooftile.ops.patterns.matmul import Matmul
    from rooftile.ops.patterns.matvec import Matvec
    from rooftile.runtime.selection.choice import decide
    from rooftile.strategies import ladder

    problem = {
        "matmul": Matmul(3, 4, 5, dtype="float64"),
        "matvec": Matvec(3, 4, dtype="float64"),
        "linear": Linear(3, 4, 5, dtype="float64"),
        "conv1d": Conv1d(9, 3, dtype="float64"),
        "conv2d": Conv2d(1, 1, 5, 5, 1, (3, 3), dtype="float64"),
        "conv3d": Conv3d(5, 5, 5, (3, 3, 3), dtype="float64"),
    }[name]
    assert all(rung.why_not(problem) for rung in ladder(name, kind))
    with pytest.raises(UnsupportedProblem, match=rf"no strategy of {name} on {kind} takes float64"):
        decide(problem, device=kind)
