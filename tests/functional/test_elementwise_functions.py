"""`rooftile.add`, `axpy` and `scale` as their user calls them."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError

GENERATOR = np.random.default_rng(0)
X, Y = GENERATOR.standard_normal((2, 37, 1001), np.float32)
STRATEGIES = [None, "loops", "threads", "vectors"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_numpys_bits(strategy):
    assert (rooftile.add(X, Y, strategy=strategy) == X + Y).all()
    assert (rooftile.axpy(0.1, X, Y, strategy=strategy) == np.float32(0.1) * X + Y).all()
    assert (rooftile.scale(2, X, strategy=strategy) == 2 * X).all()


def test_other_dtypes_shapes_and_views():
    x = np.array([2**31 - 1, -5], np.int32)
    assert (rooftile.add(x, np.ones_like(x)) == [-(2**31), -4]).all()
    half = X.astype(np.float16)
    assert (rooftile.axpy(0.1, half, half) == np.float16(0.1) * half + half).all()
    double = X.astype(np.float64)
    assert (rooftile.axpy(0.1, double, double) == 0.1 * double + double).all()
    assert (rooftile.add(X.T[::2], Y.T[::2]) == (X + Y).T[::2]).all()
    assert rooftile.scale(-1.5, np.full((), 3, np.float32)) == -4.5


def test_out():
    out = np.empty_like(X)
    assert rooftile.axpy(3, X, Y, out=out) is out
    assert (out == np.float32(3) * X + Y).all()
    for wrong in (np.empty(X.shape), np.empty(36, np.float32), X):
        with pytest.raises(InputError, match="out"):
            rooftile.add(X, Y, out=wrong)


def test_what_is_not_finite():
    x = np.array([np.inf, np.nan, 1], np.float32)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(rooftile.add(x, -x), x + -x, equal_nan=True)
        assert np.isinf(rooftile.scale(1e300, x)[[0, 2]]).all()


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("b", lambda: rooftile.add(np.zeros((0, 3), np.float32), X)),
        ("b", lambda: rooftile.add(np.zeros(3, np.float16), X)),
        ("a", lambda: rooftile.add(np.zeros(3, complex), X)),
        ("a", lambda: rooftile.add([1.0], X)),
        ("b", lambda: rooftile.add(X, Y[:5])),
        ("b", lambda: rooftile.add(X, Y.astype(np.float64))),
        ("alpha", lambda: rooftile.axpy("2", X, Y)),
        ("alpha", lambda: rooftile.scale(True, X)),
        ("x", lambda: rooftile.scale(2, np.ones(3, np.int32))),
        ("y", lambda: rooftile.axpy(2, X, Y.T)),
        ("strategy", lambda: rooftile.add(X, Y, strategy="fastest")),
        ("device", lambda: rooftile.add(X, Y, device="tpu")),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_on_opencl(opencl_device):
    assert (rooftile.add(X, Y, device="opencl") == X + Y).all()
    assert (rooftile.axpy(0.1, X, Y, device="opencl") == np.float32(0.1) * X + Y).all()
    assert (rooftile.scale(0.1, X, device="opencl") == np.float32(0.1) * X).all()


def test_on_tensors_of_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    x, y = torch.from_numpy(X).cuda(), torch.from_numpy(Y).cuda()
    assert torch.equal(rooftile.add(x, y), x + y)
    assert (rooftile.axpy(0.1, x, y).cpu().numpy() == np.float32(0.1) * X + Y).all()
    assert torch.equal(rooftile.scale(0.1, x.double()), 0.1 * x.double())
    for dtype in (torch.float16, torch.bfloat16):
        assert torch.equal(rooftile.add(x.to(dtype), y.to(dtype)), x.to(dtype) + y.to(dtype))
        alpha = torch.tensor(0.1, dtype=dtype, device="cuda")
        assert torch.equal(rooftile.scale(0.1, x.to(dtype)), alpha * x.to(dtype))


def test_a_graph_keeps_its_factor(cuda_device):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X).cuda()
    out = torch.empty_like(x)
    rooftile.scale(3, x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rooftile.scale(3, x, out=out)
    rooftile.scale(5, x, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, 3 * x)
