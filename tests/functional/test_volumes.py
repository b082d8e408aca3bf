"""`rooftile.conv3d` and `rooftile.stencil` as their user calls them."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError
from rooftile.ops.patterns.stencil import offsets_of

GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((6, 7, 20), np.float32)
MASK = GENERATOR.standard_normal((3, 3, 3), np.float32)
STAR = GENERATOR.standard_normal(7, np.float32)


def direct(x, mask, boundary="zero"):
    """The definition, with NumPy's slices."""
    if boundary == "zero":
        x = np.pad(x, [((m - 1) // 2, m - 1 - (m - 1) // 2) for m in mask.shape])
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), mask.shape)
    return np.einsum("zijdpq,dpq->zij", windows, mask)


@pytest.mark.parametrize("strategy", [None, "loops", "threads", "vectors"])
@pytest.mark.parametrize("boundary", ["zero", "valid"])
def test_a_volume(boundary, strategy):
    y = rooftile.conv3d(X, MASK, boundary=boundary, strategy=strategy)
    assert y.dtype == np.float32
    assert np.allclose(y, direct(X, MASK, boundary), atol=1e-4)
    # The weights of a later call are not those of an earlier one.
    y = rooftile.conv3d(X, 2 * MASK, boundary=boundary, strategy=strategy)
    assert np.allclose(y, direct(X, 2 * MASK, boundary), atol=1e-4)


def test_batches_of_volumes():
    x = GENERATOR.standard_normal((2, 3, 5, 6, 7), np.float32)
    weights = GENERATOR.standard_normal((4, 3, 2, 3, 1), np.float32)
    y = rooftile.conv3d(x, weights)
    assert y.shape == (2, 4, 5, 6, 7)
    expected = sum(direct(x[1, c], weights[2, c]) for c in range(3))
    assert np.allclose(y[1, 2], expected, atol=1e-4)


def test_one_element_and_masks_larger_than_the_volume():
    one, two = np.full((1, 1, 1), 3, np.float32), np.full((1, 1, 1), 2, np.float32)
    assert rooftile.conv3d(one, two) == 6
    mask = np.arange(125, dtype=np.float32).reshape(5, 5, 5)
    assert rooftile.conv3d(one, mask) == 3 * 62
    assert rooftile.stencil(one, np.arange(25, dtype=np.float32), steps=2) == 3 * 12 * 12


@pytest.mark.parametrize("strategy", [None, "loops", "threads", "vectors"])
@pytest.mark.parametrize("steps", [1, 2])
def test_steps_of_a_stencil(steps, strategy):
    expected = X.astype(np.float64)
    mask = np.zeros((3, 3, 3))
    for offset, coefficient in zip(offsets_of(3, 7), STAR, strict=True):
        mask[tuple(1 + step for step in offset)] = coefficient
    for _ in range(steps):
        expected = direct(expected, mask)
    y = rooftile.stencil(X, STAR, steps=steps, strategy=strategy)
    assert np.allclose(y, expected, atol=1e-3)
    y = rooftile.stencil(X, STAR, steps=steps, boundary="valid", strategy=strategy)
    assert np.allclose(y, expected[(slice(steps, -steps),) * 3], atol=1e-3)


def test_the_rank_says_which_stencil():
    plane = X[0]
    assert np.allclose(
        rooftile.stencil(plane, STAR[:5]),
        direct(plane[None], np.array([[[0, STAR[0], 0], STAR[1:4], [0, STAR[4], 0]]]))[0],
        atol=1e-5,
    )
    with pytest.raises(InputError, match="one of \\[5, 9\\] in 2D"):
        rooftile.stencil(plane, STAR)


def test_out_and_views():
    out = np.full(X.shape, np.nan, np.float32)
    assert rooftile.conv3d(X, MASK, out=out) is out
    assert np.allclose(out, direct(X, MASK), atol=1e-4)
    view = X[:, ::2, ::-1]
    assert np.allclose(rooftile.conv3d(view, MASK[::-1]), direct(view, MASK[::-1]), atol=1e-4)
    for wrong in (np.empty((6, 7, 19), np.float32), np.empty(X.shape), X):
        with pytest.raises(InputError, match="out"):
            rooftile.stencil(X, STAR, out=wrong)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("x", lambda: rooftile.conv3d(np.zeros((0, 3, 3), np.float32), MASK)),
        ("mask", lambda: rooftile.conv3d(np.zeros((3, 3, 3)), MASK)),
        ("x", lambda: rooftile.conv3d(X[0], MASK)),
        ("mask", lambda: rooftile.conv3d(X, MASK[0])),
        ("mask", lambda: rooftile.conv3d(X, MASK[:0])),
        ("mask", lambda: rooftile.conv3d(X, np.ones((7, 1, 1), np.float32), boundary="valid")),
        ("mask", lambda: rooftile.conv3d(X[None, None], np.ones((1, 2, 3, 3, 3), np.float32))),
        ("boundary", lambda: rooftile.conv3d(X, MASK, boundary="same")),
        ("strategy", lambda: rooftile.conv3d(X, MASK, strategy="fastest")),
        ("x", lambda: rooftile.stencil(np.zeros((3, 0), np.float32), STAR[:5])),
        ("x", lambda: rooftile.stencil(X[0, 0], STAR)),
        ("x", lambda: rooftile.stencil(X, STAR, steps=3, boundary="valid", out=X[:0])),
        ("coefficients", lambda: rooftile.stencil(X, STAR[:6])),
        ("coefficients", lambda: rooftile.stencil(X, MASK)),
        ("steps", lambda: rooftile.stencil(X, STAR, steps=0)),
        ("steps", lambda: rooftile.stencil(X, STAR, steps=1.5)),
        ("boundary", lambda: rooftile.stencil(X, STAR, boundary="same")),
        ("device", lambda: rooftile.stencil(X, STAR, device="tpu")),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_on_opencl(opencl_device):
    assert np.allclose(rooftile.conv3d(X, MASK, device="opencl"), direct(X, MASK), atol=1e-4)
    host = rooftile.stencil(X, STAR, steps=2)
    assert np.allclose(rooftile.stencil(X, STAR, steps=2, device="opencl"), host, atol=1e-4)


def test_on_tensors_of_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    x, mask, star = (torch.from_numpy(array).cuda() for array in (X, MASK, STAR))
    y = rooftile.conv3d(x, mask)
    assert y.device.type == "cuda"
    assert np.allclose(y.cpu().numpy(), direct(X, MASK), atol=1e-4)
    # Coefficients come to constant memory with zeros where a star has no points.
    y = rooftile.stencil(x, star, steps=3)
    assert np.allclose(y.cpu().numpy(), rooftile.stencil(X, STAR, steps=3), atol=1e-3)
