"""Arrays of other libraries: taken and given back without a copy in the CPU's memory."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import rooftile
from rooftile.lab.judge.verify import assert_close
from rooftile.ops import Conv2d
from rooftile.ops.array import DTYPES, numpy_dtype
from rooftile.runtime.arrays.cupy import CuPy
from rooftile.runtime.arrays.libraries import library_of
from tests.support import fake_cuda

WHY = "not installed: an optional library of the caller"
PROBLEM = Conv2d(2, 3, 12, 20, 5, (3, 4))
GENERATOR = np.random.default_rng(0)
X, W, B = (GENERATOR.standard_normal(s, np.float32) for s in ((2, 3, 12, 20), (5, 3, 3, 4), (5,)))


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason=f"PyTorch is {WHY}")


@pytest.fixture
def jax():
    return pytest.importorskip("jax", reason=f"JAX is {WHY}")


def test_no_library_is_imported():
    script = (
        "import sys, numpy, rooftile; rooftile.softmax(numpy.zeros((1, 2), numpy.float32)); "
        "print(sorted({'torch', 'cupy', 'jax'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_unknown_kind_is_told_what_is_known():
    with pytest.raises(rooftile.InputError, match="PyTorch, CuPy or JAX"):
        rooftile.softmax([[1.0]])


def test_a_library_that_is_half_imported_does_no_harm(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    assert library_of("x", X).title == "a NumPy array"
    with pytest.raises(rooftile.InputError, match="got a list"):
        library_of("x", [])


@pytest.mark.parametrize(
    ("shape", "dtype", "nbytes"),
    [((3, 5), None, 60), ((3, 5), np.float16, 30), ((0, 5), None, 0), ((), None, 4)],
)
def test_cupys_allocator_gives_memory_for_arrays_of_any_size(shape, dtype, nbytes):
    device = fake_cuda.Device()
    array, address = CuPy(fake_cuda.library(device)).maker(shape, 0, dtype)()
    assert (array.shape, array.dtype) == (shape, dtype or np.float32)
    assert array.data.ptr == address
    assert [details for _, details in device.of("alloc")] == [nbytes]


def test_cupys_current_stream_is_that_of_the_gpu_that_is_asked_for():
    cupy, now = fake_cuda.library(fake_cuda.Device()), [0]

    class Device:
        def __init__(self, index=None):
            self.id = now[-1] if index is None else index

        def __enter__(self):
            now.append(self.id)

        def __exit__(self, *raised):
            now.pop()

    cupy.cuda.Device = Device
    cupy.cuda.get_current_stream = lambda: SimpleNamespace(ptr=(0, 9)[now[-1]])
    library = CuPy(cupy)
    assert [library.current_stream(gpu) for gpu in (0, 1, 0)] == [1, 9, 1]
    assert now == [0]


@pytest.mark.parametrize("at_hand", [False, True])
def test_cupys_arrays_are_read_where_they_have_no_gaps(at_hand):
    cupy = fake_cuda.library(fake_cuda.Device())
    if at_hand:
        cupy.ndarray._c_contiguous = property(lambda array: array.flags.c_contiguous)
    library, found = CuPy(cupy), [None]
    library.kinds.add(cupy.ndarray)
    read = library.reader(0, [np.dtype("float32")], [0])
    x = cupy.ndarray((3, 5))
    assert read((x,), found)
    assert found == [x.data.ptr]
    assert not read((cupy.ndarray((3, 5), contiguous=False),), found)


def test_torch_in_torch_out(torch):
    x, weights, bias = map(torch.from_numpy, (X, W, B))
    y = rooftile.conv2d(x, weights, bias)
    assert type(y) is torch.Tensor
    assert_close(PROBLEM, y.numpy(), X, W, B)
    pool = rooftile.pool2d(x, "max", 2)
    np.testing.assert_array_equal(pool, rooftile.pool2d(X, "max", 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_of_every_dtype(torch, dtype):
    if not hasattr(torch, dtype):
        pytest.skip(f"this PyTorch has no {dtype}")
    x = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 9, 40)
    x = x.astype(numpy_dtype(dtype))
    # PyTorch takes no bfloat16 of NumPy, and converts numbers that both have exactly.
    tensor = torch.tensor(x.tolist()).to(getattr(torch, dtype))
    for call in (
        rooftile.sort,
        rooftile.unique,
        lambda given: rooftile.add(given, given),
        lambda given: rooftile.reduce(given, "max"),
        lambda given: rooftile.scan(given, "sum"),
        lambda given: rooftile.histogram(given, 4),
        lambda given: rooftile.partition(given, 1),
    ):
        made, expected = call(tensor), call(x)
        if isinstance(expected, tuple):
            (made, *more), (expected, *others) = made, expected
            assert more[-1] == others[-1]
        assert isinstance(made, torch.Tensor)
        assert str(made.dtype).removeprefix("torch.") == expected.dtype.name
        assert made.tolist() == expected.tolist()


def test_torch_shares_its_memory(torch):
    # The result is written where the tensor is, and the input is read there.
    x, out = torch.from_numpy(X.copy()), torch.full((2, 5, 10, 17), torch.nan)
    seen = library_of("x", x).on_host("x", x)
    assert seen.ctypes.data == x.data_ptr()
    assert rooftile.conv2d(x, torch.from_numpy(W), out=out) is out
    assert_close(PROBLEM, out.numpy(), X, W, np.zeros(5, np.float32))


def test_torch_beside_numpy_is_refused_by_every_call(torch):
    x, w = torch.from_numpy(X.copy()), torch.from_numpy(W.copy())
    conv, y = rooftile.Conv2d(w), np.zeros((2, 5, 10, 17), np.float32)
    for _ in range(3):
        for call in (lambda **k: rooftile.conv2d(x, w, **k), lambda **k: conv(x, **k)):
            call()
            call(out=torch.from_numpy(y))
            with pytest.raises(rooftile.InputError, match="out: got"):
                call(out=y)
        with pytest.raises(rooftile.InputError, match="weights: got"):
            rooftile.conv2d(x, W)
        rooftile.conv2d(X, W)
        with pytest.raises(rooftile.InputError, match="out: got"):
            rooftile.conv2d(X, W, out=torch.from_numpy(y))


def test_torch_views(torch):
    x = torch.from_numpy(X).to(memory_format=torch.channels_last)
    weights = torch.from_numpy(np.asfortranarray(W))
    assert_close(PROBLEM, rooftile.conv2d(x, weights, torch.from_numpy(B)).numpy(), X, W, B)
    expanded = torch.from_numpy(X[:1]).expand(2, -1, -1, -1)
    y = rooftile.pool2d(expanded, "max", 2)
    np.testing.assert_array_equal(y[0], y[1])


def test_torch_matmul_in_every_order(torch):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    expected = (a.double() @ b.double()).numpy()
    for x, transpose_a in ((a, False), (a.T.contiguous(), True), (a.T, True)):
        for y, transpose_b in ((b, False), (b.T.contiguous(), True), (b.T, True)):
            made = rooftile.matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)
            assert type(made) is torch.Tensor
            np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_torch_parameters_without_gradients(torch):
    layer = torch.nn.Conv2d(3, 5, (3, 4))
    x = torch.from_numpy(X)
    with pytest.raises(rooftile.InputError, match=r"no_grad") as caught:
        rooftile.conv2d(x, layer.weight, layer.bias)
    assert caught.value.argument == "weights"
    with torch.no_grad():
        y = rooftile.conv2d(x, layer.weight, layer.bias)
    weights, bias = (p.detach().numpy() for p in (layer.weight, layer.bias))
    assert_close(PROBLEM, y.numpy(), X, weights, bias)
    assert not y.requires_grad


def test_torch_tensors_that_are_refused(torch):
    x = torch.from_numpy(X)
    negated = torch.complex(torch.zeros(2, 3), torch.ones(2, 3)).conj().imag
    np.testing.assert_array_equal(rooftile.softmax(negated)[0], rooftile.softmax(-negated)[0])
    for argument, call in (
        ("x", lambda: rooftile.pool2d(x.double(), "max", 2)),
        ("x", lambda: rooftile.pool2d(x.int(), "max", 2)),
        ("x", lambda: rooftile.pool2d(x.to("meta"), "max", 2)),
        ("x", lambda: rooftile.softmax(x[0, 0].to_sparse())),
        ("x", lambda: rooftile.pool2d(x[:, :0], "max", 2)),
        ("x", lambda: torch.func.vmap(rooftile.softmax)(x[0])),
        ("weights", lambda: rooftile.conv2d(x, W)),
        ("weights", lambda: rooftile.conv2d(X, torch.from_numpy(W))),
        ("out", lambda: rooftile.softmax(torch.zeros(2, 3), out=negated)),
        ("out", lambda: rooftile.softmax(torch.zeros(2, 3), out=torch.zeros(3, 2).T)),
        ("out", lambda: rooftile.pool2d(x, "max", 1, out=x)),
    ):
        with pytest.raises(rooftile.InputError) as caught:
            call()
        assert caught.value.argument == argument


def test_torch_on_a_device_that_copies(torch, opencl_device):
    x, weights, bias = map(torch.from_numpy, (X, W, B))
    y = rooftile.conv2d(x, weights, bias, device="opencl")
    assert type(y) is torch.Tensor
    assert_close(PROBLEM, y.numpy(), X, W, B)


def test_jax_in_jax_out(jax):
    x, weights, bias = map(jax.numpy.asarray, (X, W, B))
    y = rooftile.conv2d(x, weights, bias)
    assert isinstance(y, jax.Array)
    assert_close(PROBLEM, np.asarray(y), X, W, B)


def test_jax_arrays_that_are_refused(jax):
    x = jax.numpy.asarray(X)
    for argument, call in (
        ("x", lambda: rooftile.pool2d(x.astype("float16"), "max", 2)),
        ("x", lambda: jax.jit(lambda a: rooftile.pool2d(a, "max", 2))(x)),
        ("weights", lambda: rooftile.conv2d(x, W)),
        ("out", lambda: rooftile.pool2d(x, "max", 1, out=x)),
    ):
        with pytest.raises(rooftile.InputError) as caught:
            call()
        assert caught.value.argument == argument
