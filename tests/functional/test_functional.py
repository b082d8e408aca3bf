"""The public functions: results, conversions that are made, arguments that are refused."""

import ml_dtypes
import numpy as np
import pytest

import rooftile
from rooftile.devices import cpu
from rooftile.lab.judge.verify import assert_close
from rooftile.ops import Conv2d, Linear, Pool, Pool2d, Softmax
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.selection import choice as dispatch
from rooftile.strategies import ladder


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


X, W, B = array(2, 3, 12, 20), array(5, 3, 3, 4, seed=1), array(5, seed=2)
ROWS, MATRIX = array(4, 7, seed=3), array(6, 7, seed=4)
DENSE = np.zeros((2, 5, 10, 17), np.float32)
SMALL = np.zeros(4, np.float32)


def test_conv2d_with_everything_fused():
    y = rooftile.conv2d(
        X, W, B, stride=(1, 2), padding=(2, 1), activation="relu", pool=("max", 3, (1, 2))
    )
    problem = Conv2d(2, 3, 12, 20, 5, (3, 4), (1, 2), (2, 1), "relu", Pool.of("max", 3, (1, 2)))
    assert_close(problem, y, X, W, B)


def test_conv2d_without_bias():
    zeros = np.zeros(5, np.float32)
    assert_close(Conv2d(2, 3, 12, 20, 5, (3, 4)), rooftile.conv2d(X, W), X, W, zeros)


@pytest.mark.parametrize("boundary", ["replicate", "interior"])
def test_conv2d_at_boundaries(boundary):
    options = {"padding": (2, 1), "boundary": boundary, "pool": ("average", 2, 2, "sigmoid")}
    y = rooftile.conv2d(X, W, B, **options)
    pool = Pool.of("average", 2, 2, "sigmoid")
    problem = Conv2d(2, 3, 12, 20, 5, (3, 4), (1, 1), (2, 1), "none", pool, boundary)
    assert_close(problem, y, X, W, B)
    np.testing.assert_array_equal(rooftile.Conv2d(W, B, **options)(X), y)


@pytest.mark.parametrize("kind", ["max", "average", "l2"])
def test_pool2d(kind):
    y = rooftile.pool2d(X, kind, (3, 2), stride=2)
    assert_close(Pool2d(2, 3, 12, 20, Pool.of(kind, (3, 2), 2)), y, X)


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_pool2d_with_parameters(device, opencl_device):
    weights, bias = array(3, 2, seed=6), array(3, seed=7)
    options = {"stride": 2, "device": device}
    for _ in range(2):
        y = rooftile.pool2d(X, "weighted", (3, 2), weights=weights, **options)
        assert_close(Pool2d(2, 3, 12, 20, Pool.of("weighted", (3, 2), 2)), y, X, weights)
        weights = -weights
    y = rooftile.pool2d(X, "average", (3, 2), bias=bias, activation="sigmoid", **options)
    pool = Pool.of("average", (3, 2), 2, "sigmoid")
    assert_close(Pool2d(2, 3, 12, 20, pool, bias=True), y, X, bias)


def test_linear():
    bias = array(6, seed=5)
    y = rooftile.linear(ROWS, MATRIX, bias, activation="tanh")
    assert_close(Linear(4, 7, 6, "tanh"), y, ROWS, MATRIX, bias)
    zeros = np.zeros(6, np.float32)
    assert_close(Linear(4, 7, 6), rooftile.linear(ROWS, MATRIX), ROWS, MATRIX, zeros)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul(transpose_a, transpose_b):
    a = ROWS.T.copy() if transpose_a else ROWS
    b = MATRIX if transpose_b else MATRIX.T.copy()
    out = np.full((4, 6), np.nan, np.float32)
    y = rooftile.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out=out)
    assert y is out
    assert_close(Linear(4, 7, 6), y, ROWS, MATRIX, np.zeros(6, np.float32))
    # Views of either order are as good.
    again = rooftile.matmul(a.T, b.T, transpose_a=not transpose_a, transpose_b=not transpose_b)
    np.testing.assert_array_equal(y, again)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_matmul_of_16_bits(dtype):
    """Sums are float32's, and rounded at the end."""
    a, b = ROWS.astype(dtype), MATRIX.T.astype(dtype)
    y = rooftile.matmul(a, b)
    assert y.dtype == dtype
    expected = a.astype(np.float32) @ b.astype(np.float32)
    unit = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(y.astype(np.float32), expected, rtol=unit, atol=1e-6)


@pytest.mark.parametrize("strategy", [None, "loops", "vectors"])
def test_matvec(strategy):
    x, out = ROWS[0], np.full(6, np.nan, np.float32)
    assert rooftile.matvec(MATRIX, x, strategy=strategy, out=out) is out
    np.testing.assert_allclose(out, MATRIX.astype(np.float64) @ x, rtol=1e-5, atol=1e-5)
    # Stored the other way, and views of either order.
    stored = MATRIX.T.copy()
    for again in (
        rooftile.matvec(stored, x, transpose=True, strategy=strategy),
        rooftile.matvec(stored.T, x, strategy=strategy),
        rooftile.matvec(MATRIX.T, x, transpose=True, strategy=strategy),
    ):
        np.testing.assert_allclose(again, out, rtol=1e-5, atol=1e-5)


def test_a_view_of_a_transpose_is_read_as_it_lies(monkeypatch):
    def copied(*given):
        raise AssertionError("a copy was made")

    monkeypatch.setattr(cpu, "aligned", copied)
    given = Arguments(ROWS, "a")
    taken, turned = given.take_matrix("b", MATRIX.T, "inner, columns", False)
    assert turned
    assert np.shares_memory(taken, MATRIX)


def test_matmul_of_what_is_not_finite_and_by_name():
    a = np.array([[np.inf, 0.0], [np.nan, 1.0], [1.0, 2.0]], np.float32)
    y = rooftile.matmul(a, np.ones((2, 1), np.float32), strategy="loops")
    np.testing.assert_array_equal(y, [[np.inf], [np.nan], [3.0]])


def test_softmax():
    y = rooftile.softmax(ROWS)
    assert_close(Softmax(4, 7), y, ROWS)
    np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    "row", [[1.0, np.nan, 2.0], [np.inf, 1.0, 2.0], [np.inf, np.inf, 0.0], [-np.inf] * 3]
)
def test_softmax_of_what_has_none_is_nan(row):
    assert np.isnan(rooftile.softmax(np.array([row], np.float32))).all()


def test_softmax_of_large_and_of_absent_classes():
    y = rooftile.softmax(np.array([[1e30, 1e30, -np.inf]], np.float32))
    np.testing.assert_array_equal(y, [[0.5, 0.5, 0.0]])


def test_out_is_filled_and_returned():
    out = np.full((2, 5, 10, 17), np.nan, np.float32)
    assert rooftile.conv2d(X, W, B, out=out) is out
    np.testing.assert_array_equal(out, rooftile.conv2d(X, W, B))


@pytest.mark.parametrize("strategy", ["loops", "threads", "unrolled", "im2col", "im2col_fused"])
def test_a_named_strategy_computes(strategy):
    y = rooftile.conv2d(X, W, B, strategy=strategy)
    assert_close(Conv2d(2, 3, 12, 20, 5, (3, 4)), y, X, W, B)


def unaligned(a):
    raw = np.empty(a.nbytes + 1, np.uint8)
    view = raw[1:].view(np.float32).reshape(a.shape)
    view[...] = a
    assert not view.flags.aligned
    return view


def read_only(a):
    copy = a.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize(
    "view",
    [
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
        lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
        unaligned,
        read_only,
    ],
    ids=["fortran", "strided", "reversed", "unaligned", "read-only"],
)
def test_views_are_made_contiguous(view):
    expected = rooftile.conv2d(X, W, B)
    np.testing.assert_array_equal(rooftile.conv2d(view(X), view(W), view(B)), expected)


def test_the_arguments_are_left_alone():
    copies = [a.copy() for a in (X, W, B)]
    rooftile.conv2d(X, W, B, activation="relu", pool=("max", 2))
    for a, copy in zip((X, W, B), copies, strict=True):
        np.testing.assert_array_equal(a, copy)


BAD = {
    "rank of x": ("x", lambda: rooftile.conv2d(X[0], W)),
    "rank of weights": ("weights", lambda: rooftile.conv2d(X, W[0])),
    "rank of bias": ("bias", lambda: rooftile.conv2d(X, W, B[None])),
    "channels": ("weights", lambda: rooftile.conv2d(X, W[:, :2])),
    "mask larger than the image": ("weights", lambda: rooftile.conv2d(X[:, :, :2], W)),
    "length of bias": ("bias", lambda: rooftile.conv2d(X, W, B[:4])),
    "float64 images": ("weights", lambda: rooftile.conv2d(X.astype(np.float64), W)),
    "float16 and tf32": (
        "precision",
        lambda: rooftile.conv2d(X.astype(np.float16), W, precision="tf32"),
    ),
    "fp16 on the CPU": ("precision", lambda: rooftile.conv2d(X, W, precision="fp16")),
    "float64 weights": ("weights", lambda: rooftile.conv2d(X, W.astype(np.float64))),
    "float64 bias": ("bias", lambda: rooftile.conv2d(X, W, B.astype(np.float64))),
    "integers": ("x", lambda: rooftile.conv2d(X.astype(np.int32), W)),
    "booleans": ("x", lambda: rooftile.conv2d(X > 0, W)),
    "complex": ("x", lambda: rooftile.conv2d(X.astype(np.complex64), W)),
    "objects": ("x", lambda: rooftile.conv2d(X.astype(object), W)),
    "a list": ("x", lambda: rooftile.conv2d(X.tolist(), W)),
    "None": ("x", lambda: rooftile.conv2d(None, W)),
    "a masked array": ("x", lambda: rooftile.conv2d(np.ma.array(X), W)),
    "swapped bytes": ("x", lambda: rooftile.conv2d(X.astype(X.dtype.newbyteorder()), W)),
    "empty images": ("x", lambda: rooftile.conv2d(X[:, :, :0], W)),
    "no maps": ("weights", lambda: rooftile.conv2d(X, W[:0])),
    "negative padding": ("padding", lambda: rooftile.conv2d(X, W, padding=-1)),
    "negative padding one way": ("padding", lambda: rooftile.conv2d(X, W, padding=(0, -1))),
    "fractional padding": ("padding", lambda: rooftile.conv2d(X, W, padding=0.5)),
    "no stride": ("stride", lambda: rooftile.conv2d(X, W, stride=0)),
    "three strides": ("stride", lambda: rooftile.conv2d(X, W, stride=(1, 1, 1))),
    "a word for a stride": ("stride", lambda: rooftile.conv2d(X, W, stride="2")),
    "True for a stride": ("stride", lambda: rooftile.conv2d(X, W, stride=True)),
    "activation": ("activation", lambda: rooftile.conv2d(X, W, activation="swish")),
    "no activation": ("activation", lambda: rooftile.conv2d(X, W, activation=None)),
    "kind of pool": ("pool", lambda: rooftile.conv2d(X, W, pool=("median", 2))),
    "pool as a number": ("pool", lambda: rooftile.conv2d(X, W, pool=2)),
    "pool without window": ("pool", lambda: rooftile.conv2d(X, W, pool=("max",))),
    "window of none": ("pool window", lambda: rooftile.conv2d(X, W, pool=("max", 0))),
    "pool larger than the image": ("pool window", lambda: rooftile.conv2d(X, W, pool=("max", 11))),
    "precision": ("precision", lambda: rooftile.conv2d(X, W, precision="fp8")),
    "precision as a list": ("precision", lambda: rooftile.conv2d(X, W, precision=["ieee"])),
    "strategy": ("strategy", lambda: rooftile.conv2d(X, W, strategy="magic")),
    "strategy as a list": ("strategy", lambda: rooftile.conv2d(X, W, strategy=["loops"])),
    "device": ("device", lambda: rooftile.conv2d(X, W, device="tpu")),
    "device as a number": ("device", lambda: rooftile.conv2d(X, W, device=0)),
    "number of a gpu": ("device", lambda: rooftile.conv2d(X, W, device="opencl:one")),
    "cpu strategy on a gpu": (
        "strategy",
        lambda: rooftile.conv2d(X, W, strategy="loops", device="cuda"),
    ),
    "second cpu": ("device", lambda: rooftile.conv2d(X, W, device="cpu:1")),
    "shape of out": ("out", lambda: rooftile.conv2d(X, W, out=DENSE[:, :4].copy())),
    "dtype of out": ("out", lambda: rooftile.conv2d(X, W, out=DENSE.astype(np.float64))),
    "out with gaps": ("out", lambda: rooftile.conv2d(X, W, out=np.asfortranarray(DENSE))),
    "unaligned out": ("out", lambda: rooftile.conv2d(X, W, out=unaligned(DENSE))),
    "read-only out": ("out", lambda: rooftile.conv2d(X, W, out=read_only(DENSE))),
    "out as a list": ("out", lambda: rooftile.conv2d(X, W, out=DENSE.tolist())),
    "out over x": ("out", lambda: rooftile.pool2d(X, "max", 1, out=X)),
    "out over a part of x": ("out", lambda: rooftile.softmax(SMALL[:3][None], out=SMALL[1:][None])),
    "kind of pool2d": ("pool", lambda: rooftile.pool2d(X, "sum", 2)),
    "rank of pool2d": ("x", lambda: rooftile.pool2d(X[0], "max", 2)),
    "stride of pool2d": ("pool stride", lambda: rooftile.pool2d(X, "max", 2, stride=0)),
    "window of pool2d": ("pool window", lambda: rooftile.pool2d(X, "max", 13)),
    "pool2d without weights": ("weights", lambda: rooftile.pool2d(X, "weighted", 2)),
    "weights of a maximum": ("weights", lambda: rooftile.pool2d(X, "max", 2, weights=W[0, 0])),
    "weights of pool2d": ("weights", lambda: rooftile.pool2d(X, "weighted", 2, weights=W[0, 0])),
    "bias of pool2d": ("bias", lambda: rooftile.pool2d(X, "max", 2, bias=B)),
    "activation of pool2d": ("activation", lambda: rooftile.pool2d(X, "max", 2, activation="up")),
    "boundary": ("boundary", lambda: rooftile.conv2d(X, W, boundary="mirror")),
    "boundary of Conv2d": ("boundary", lambda: rooftile.Conv2d(W, boundary="valid")),
    "pool with weights": ("pool", lambda: rooftile.conv2d(X, W, pool=("weighted", 2))),
    "strategy of pool2d": ("strategy", lambda: rooftile.pool2d(X, "max", 2, strategy="winograd")),
    "inputs of linear": ("weights", lambda: rooftile.linear(X, MATRIX)),
    "weights of linear": ("weights", lambda: rooftile.linear(ROWS, MATRIX.T)),
    "bias of linear": ("bias", lambda: rooftile.linear(ROWS, MATRIX, B[:3])),
    "no inputs of linear": ("x", lambda: rooftile.linear(ROWS[:, :0], MATRIX)),
    "rank of matmul": ("a", lambda: rooftile.matmul(B, MATRIX)),
    "rank of matmul's b": ("b", lambda: rooftile.matmul(ROWS, B)),
    "inner axes of matmul": ("b", lambda: rooftile.matmul(ROWS, MATRIX)),
    "transposed inner axes": ("b", lambda: rooftile.matmul(ROWS, MATRIX.T, transpose_a=True)),
    "list for matmul": ("a", lambda: rooftile.matmul(ROWS.tolist(), MATRIX)),
    "float64 for matmul": ("b", lambda: rooftile.matmul(ROWS, MATRIX.T.astype(np.float64))),
    "rank of matvec": ("a", lambda: rooftile.matvec(ROWS[0], ROWS[0])),
    "rank of matvec's x": ("x", lambda: rooftile.matvec(MATRIX, ROWS)),
    "length of matvec's x": ("x", lambda: rooftile.matvec(MATRIX, ROWS[0], transpose=True)),
    "out of matmul": ("out", lambda: rooftile.matmul(ROWS, MATRIX.T, out=MATRIX)),
    "axis of softmax": ("axis", lambda: rooftile.softmax(B, 1)),
    "no axis of softmax": ("x", lambda: rooftile.softmax(np.ones((), np.float32))),
}


@pytest.mark.parametrize(("argument", "call"), BAD.values(), ids=BAD)
def test_bad_input_is_an_error_that_names_the_argument(argument, call):
    with pytest.raises(rooftile.InputError) as caught:
        call()
    assert caught.value.argument == argument
    assert str(caught.value).startswith(f"{argument}: got ")


@pytest.mark.parametrize("strategy", [None, "naive", "tile_output", "im2col", "channels_atomic"])
def test_conv2d_on_a_gpu_takes_and_gives_numpy_arrays(strategy, opencl_device):
    y = rooftile.conv2d(
        X, W, B, stride=(1, 2), padding=(2, 1), activation="relu", pool=("max", 3, (1, 2)),
        strategy=strategy, device="opencl",
    )  # fmt: skip
    problem = Conv2d(2, 3, 12, 20, 5, (3, 4), (1, 2), (2, 1), "relu", Pool.of("max", 3, (1, 2)))
    assert_close(problem, y, X, W, B)


def test_conv2d_on_a_gpu_without_bias_into_out_from_any_view(opencl_device):
    out = np.full((2, 5, 10, 17), np.nan, np.float32)
    views = read_only(X), np.asfortranarray(W)
    assert rooftile.conv2d(*views, out=out, device="opencl:0") is out
    assert_close(Conv2d(2, 3, 12, 20, 5, (3, 4)), out, X, W, np.zeros(5, np.float32))


def test_each_call_on_a_gpu_has_its_own_arguments(opencl_device):
    # Kernels are kept from call to call, by batches of powers of two; arguments are not.
    for seed, batch in ((1, 3), (2, 4), (3, 1), (4, 5)):
        x, weights, bias = array(batch, 3, 12, 20, seed=seed), seed * W, B - seed
        for strategy in (None, "constant", "im2col"):
            y = rooftile.conv2d(x, weights, bias, strategy=strategy, device="opencl")
            assert_close(Conv2d(batch, 3, 12, 20, 5, (3, 4)), y, x, weights, bias)


def test_conv2d_on_a_gpu_at_precision_fast(opencl_device):
    y = rooftile.conv2d(X, W, B, strategy="fft", precision="fast", device="opencl")
    assert_close(Conv2d(2, 3, 12, 20, 5, (3, 4)), y, X, W, B, precision="fast")
    with pytest.raises(rooftile.UnsupportedProblem, match="precision"):
        rooftile.conv2d(X, W, B, strategy="fft", device="opencl")


def test_a_missing_device_says_what_was_looked_for(no_cuda):
    for device in ("cuda", "cuda:1"):
        with pytest.raises(rooftile.DeviceMissing, match="driver"):
            rooftile.conv2d(X, W, device=device)


ON_GPUS = {
    "pool2d": (Pool2d(2, 3, 12, 20, Pool.of("max", 2)), (X,),
               lambda device: rooftile.pool2d(X, "max", 2, device=device)),
    "linear": (Linear(4, 7, 6), (ROWS, MATRIX, np.zeros(6, np.float32)),
               lambda device: rooftile.linear(ROWS, MATRIX, device=device)),
    "matmul": (Linear(4, 7, 6), (ROWS, MATRIX, np.zeros(6, np.float32)),
               lambda device: rooftile.matmul(ROWS, MATRIX.T, device=device)),
    "softmax": (Softmax(4, 7), (ROWS,), lambda device: rooftile.softmax(ROWS, device=device)),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "arrays", "call"), ON_GPUS.values(), ids=ON_GPUS)
def test_the_other_operations_on_a_gpu(problem, arrays, call, opencl_device):
    try:
        ladder(problem.operation, "opencl")
    except rooftile.InputError as error:
        pytest.skip(str(error))
    assert_close(problem, call("opencl"), *arrays)


def test_an_operation_without_gpu_strategies_says_so(monkeypatch):
    def none(operation, kind="cpu"):
        raise rooftile.InputError("operation", operation, f"one with strategies on {kind}")

    monkeypatch.setattr(dispatch, "preference", none)
    for device in ("opencl", "cuda:0"):
        with pytest.raises(rooftile.UnsupportedProblem, match="no strategies on"):
            rooftile.softmax(ROWS, device=device)


def test_a_strategy_that_cannot_do_it_says_why():
    with pytest.raises(rooftile.UnsupportedProblem, match="gaps"):
        rooftile.conv2d(X, W, pool=("max", 2, 3), strategy="fft")


def test_a_result_that_does_not_fit_is_refused_before_it_is_computed():
    x = np.broadcast_to(np.float32(0), (1, 1, 1, 2))
    weights = np.broadcast_to(np.float32(0), (1, 1, 1, 1))
    with pytest.raises(rooftile.OutOfMemory, match="result"):
        rooftile.conv2d(x.copy(), weights.copy(), padding=2**20)


def test_a_view_that_does_not_fit_is_refused_before_it_is_copied():
    huge = np.broadcast_to(np.float32(0), (2**20, 1, 2**10, 2**10))
    with pytest.raises(rooftile.OutOfMemory, match="contiguous copy of x"):
        rooftile.pool2d(huge, "max", 2)
