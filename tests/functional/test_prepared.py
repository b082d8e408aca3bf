"""`rooftile.Conv2d` and `rooftile.Linear`: parameters that stay."""

from __future__ import annotations

import copy
import pickle
import typing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rooftile
from rooftile.runtime import prepared
from rooftile.strategies import ladder

GENERATOR = np.random.default_rng(5)


def values(*shape):
    return GENERATOR.standard_normal(shape, np.float32)


WEIGHTS, BIAS = values(5, 3, 3, 3), values(5)
MATRIX, SHIFT = values(33, 70), values(33)
OPTIONS = {"padding": 1, "activation": "relu", "pool": ("max", 2)}


def names(operation):
    """The rungs for float32."""
    return [rung.name for rung in ladder(operation) if rung.name != "double"]


@pytest.mark.parametrize("strategy", [None, *names("conv2d")])
def test_conv2d_has_the_bits_of_the_function(strategy):
    precision = "fast" if strategy == "winograd" else "ieee"
    # A single tap, without padding and pools, is what `pointwise` takes.
    single = strategy == "pointwise"
    weights, given = (WEIGHTS[..., :1, :1], {}) if single else (WEIGHTS, OPTIONS)
    options = given | {"strategy": strategy, "precision": precision}
    conv = rooftile.Conv2d(weights, BIAS, **options)
    for shape in ((2, 3, 12, 21), (1, 3, 12, 21), (7, 3, 12, 21), (2, 3, 9, 8)):
        x = values(*shape)
        np.testing.assert_array_equal(conv(x), rooftile.conv2d(x, weights, BIAS, **options))


@pytest.mark.parametrize("strategy", [None, *names("linear")])
def test_linear_has_the_bits_of_the_function(strategy):
    layer = rooftile.Linear(MATRIX, SHIFT, activation="tanh", strategy=strategy)
    for batch in (3, 1, 40):
        x = values(batch, 70)
        expected = rooftile.linear(x, MATRIX, SHIFT, activation="tanh", strategy=strategy)
        np.testing.assert_array_equal(layer(x), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("leading", [(), (1,), (2, 3), (2, 1, 3), (0,), (2, 0)])
def test_linear_keeps_leading_axes(leading, dtype):
    exact = dtype is np.float64
    weights, shift = (a.astype(np.float64) if exact else a for a in (MATRIX, SHIFT))
    layer = rooftile.Linear(weights, shift, activation="relu")
    x = values(*leading, 70).astype(dtype)
    expected = rooftile.linear(x, weights, shift, activation="relu")
    assert expected.shape == (*leading, 33)
    out = np.full_like(expected, 7)
    for _ in range(2):
        for made in (layer(x), layer(x, out=out), layer(x[..., ::-1])):
            assert (made.dtype, made.shape) == (x.dtype, expected.shape)
        np.testing.assert_array_equal(layer(x), expected)
        assert layer(x, out=out) is out
        np.testing.assert_array_equal(out, expected)
        # A matrix of the same rows is another call.
        np.testing.assert_array_equal(layer(x.reshape(-1, 70)), expected.reshape(-1, 33))
    turned = values(70, 4).astype(dtype).T
    np.testing.assert_array_equal(
        layer(turned), rooftile.linear(turned, weights, shift, activation="relu")
    )


def test_linear_refuses_other_axes():
    layer = rooftile.Linear(MATRIX)
    for x in (np.float32(3).reshape(()), values(2, 0), values(3, 69), values(2, 3, 69)):
        with pytest.raises(rooftile.InputError):
            layer(x)
    for out in (np.empty((6, 33), np.float32), np.empty((2, 3, 34), np.float32)):
        with pytest.raises(rooftile.InputError, match="out"):
            layer(values(2, 3, 70), out=out)


def test_float64_stays():
    weights, bias = WEIGHTS.astype(np.float64), BIAS.astype(np.float64) + 2.0**-40
    conv = rooftile.Conv2d(weights, bias, **OPTIONS)
    x = GENERATOR.standard_normal((2, 3, 12, 21))
    for given in (x, x, x[:1], x[:, :, ::-1], x[:0]):
        made, expected = conv(given), rooftile.conv2d(given, weights, bias, **OPTIONS)
        assert made.dtype == np.float64
        np.testing.assert_array_equal(made, expected)
    assert repr(conv).startswith("<Conv2d of float64[5, 3, 3, 3]")
    for again in (copy.deepcopy(conv), pickle.loads(pickle.dumps(conv))):
        np.testing.assert_array_equal(again(x), conv(x))
    conv.update(2 * weights)
    np.testing.assert_array_equal(conv(x), rooftile.conv2d(x, 2 * weights, **OPTIONS))
    around = rooftile.Conv2d(weights, padding=1, boundary="reflect")
    expected = rooftile.conv2d(x, weights, padding=1, boundary="reflect")
    np.testing.assert_array_equal(around(x), expected)
    with pytest.raises(rooftile.InputError, match=r"x: got dtype float32; expected float64"):
        conv(x.astype(np.float32))
    with pytest.raises(rooftile.InputError, match=r"weights: got dtype float32; expected float64"):
        conv.update(WEIGHTS)
    with pytest.raises(rooftile.InputError, match=r"weights: got dtype float64; expected float32"):
        rooftile.Conv2d(WEIGHTS).update(weights)
    with pytest.raises(rooftile.InputError, match="bias"):
        rooftile.Conv2d(weights, BIAS)
    with pytest.raises(rooftile.InputError, match="x: got dtype"):
        rooftile.Conv2d(WEIGHTS)(x)
    with pytest.raises(rooftile.UnsupportedProblem, match="float64"):
        rooftile.Conv2d(weights, strategy="loops")(x)


def test_without_a_bias_and_with_out():
    x, layer = values(4, 70), rooftile.Linear(MATRIX)
    out = np.full((4, 33), np.nan, np.float32)
    assert layer(x, out=out) is out
    np.testing.assert_array_equal(out, rooftile.linear(x, MATRIX))


def test_parameters_are_copied_and_update_gives_others():
    x, own = values(2, 3, 12, 21), WEIGHTS.copy()
    conv = rooftile.Conv2d(own, BIAS, **OPTIONS)
    expected = conv(x).copy()
    own[...] = 0
    np.testing.assert_array_equal(conv(x), expected)
    other = values(5, 3, 3, 3)
    conv.update(other)
    np.testing.assert_array_equal(conv(x), rooftile.conv2d(x, other, **OPTIONS))
    for strategy in ("im2col", "fft"):
        slow = rooftile.Conv2d(WEIGHTS, BIAS, strategy=strategy)
        slow(x)
        slow.update(other, BIAS)
        expected = rooftile.conv2d(x, other, BIAS, strategy=strategy)
        np.testing.assert_array_equal(slow(x), expected)


@pytest.mark.parametrize("strategy", [None, "register_tile", "map_vectors", "im2col"])
def test_repeated_calls_of_several_shapes_and_updates(strategy):
    options = {"activation": "relu", "strategy": strategy}
    conv = rooftile.Conv2d(WEIGHTS, BIAS, **options)
    xs = [values(batch, 3, 9, 14) for batch in (1, 2, 5)]
    for scale in (1, 2, 3):
        weights = scale * WEIGHTS
        conv.update(weights, BIAS)
        for _ in range(3):
            for x in xs:
                expected = rooftile.conv2d(x, weights, BIAS, **options)
                np.testing.assert_array_equal(conv(x), expected)
                out = np.full_like(expected, np.nan)
                assert conv(x, out=out) is out
                np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", [(2, 3, 12, 21), (3, 3, 60, 61)])
def test_a_call_beside_an_update_has_the_old_values_or_the_new_ones(shape):
    # The second takes so long that it gives the GIL back.
    x = values(*shape)
    sets = [(scale * WEIGHTS, scale * BIAS) for scale in (1, 2)]
    expected = [rooftile.conv2d(x, *one, **OPTIONS) for one in sets]
    conv = rooftile.Conv2d(*sets[0], **OPTIONS)

    def work(k):
        if k == 0:
            for n in range(100):
                conv.update(*sets[n % 2])
            return True
        found = (conv(x) for _ in range(200))
        return all(any(np.array_equal(y, one) for one in expected) for y in found)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    np.testing.assert_array_equal(conv(x), expected[1])


def test_more_shapes_than_are_kept(monkeypatch):
    monkeypatch.setattr(prepared, "MOST_SHAPES", 2)
    conv = rooftile.Conv2d(WEIGHTS, BIAS, **OPTIONS)
    for width in (8, 9, 10, 8):
        x = values(1, 3, 8, width)
        np.testing.assert_array_equal(conv(x), rooftile.conv2d(x, WEIGHTS, BIAS, **OPTIONS))


def test_eight_threads_at_first_use():
    conv = rooftile.Conv2d(WEIGHTS, BIAS, **OPTIONS)
    xs = [values(1 + n % 3, 3, 10 + n % 2, 11) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: conv(xs[n % 8]), range(64)))
    for n, y in enumerate(found):
        np.testing.assert_array_equal(y, rooftile.conv2d(xs[n % 8], WEIGHTS, BIAS, **OPTIONS))


def test_on_another_device(gpu_name):
    x = values(2, 3, 12, 21)
    conv = rooftile.Conv2d(WEIGHTS, BIAS, device=gpu_name, **OPTIONS)
    for _ in range(2):
        expected = rooftile.conv2d(x, WEIGHTS, BIAS, device=gpu_name, **OPTIONS)
        np.testing.assert_array_equal(conv(x), expected)


@pytest.fixture
def gpu_name(opencl_device):
    return f"opencl:{opencl_device.description.index}"


LAYER = rooftile.Linear(MATRIX, SHIFT)
WRONG = {
    "weights' rank": ("weights", lambda: rooftile.Conv2d(MATRIX)),
    "weights' dtype": ("weights", lambda: rooftile.Linear(MATRIX.astype(np.int32))),
    "a list": ("weights", lambda: rooftile.Linear([[1.0]])),
    "bias' size": ("bias", lambda: rooftile.Linear(MATRIX, SHIFT[:-1])),
    "activation": ("activation", lambda: rooftile.Linear(MATRIX, activation="mish")),
    "stride": ("stride", lambda: rooftile.Conv2d(WEIGHTS, stride=0)),
    "pool": ("pool", lambda: rooftile.Conv2d(WEIGHTS, pool=("median", 2))),
    "precision": ("precision", lambda: rooftile.Linear(MATRIX, precision="fp8")),
    "device": ("device", lambda: rooftile.Linear(MATRIX, device="tpu")),
    "strategy": ("strategy", lambda: rooftile.Linear(MATRIX, strategy="fastest")(values(1, 70))),
    "x's rank": ("x", lambda: rooftile.Conv2d(WEIGHTS)(values(3, 9, 8))),
    "inputs": ("weights", lambda: LAYER(values(1, 71))),
    "no inputs": ("x", lambda: LAYER(np.zeros((70, 0), np.float32))),
    "out": ("out", lambda: LAYER(values(2, 70), out=np.zeros((1, 33), np.float32))),
    "update": ("weights", lambda: LAYER.update(MATRIX[:-1], SHIFT[:-1])),
}


@pytest.mark.parametrize(("argument", "call"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named(argument, call):
    with pytest.raises(rooftile.InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_tensors_of_the_cpu():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(values(3, 70))
    y = rooftile.Linear(torch.from_numpy(MATRIX))(x)
    assert torch.equal(y, torch.from_numpy(rooftile.linear(x.numpy(), MATRIX)))


def test_a_prepared_operation_says_what_it_is():
    conv = rooftile.Conv2d(WEIGHTS, BIAS, padding=(1, 0), activation="relu", precision="fast")
    said = "<Conv2d of float32[5, 3, 3, 3], padding=(1, 0), activation='relu', precision='fast'>"
    assert repr(conv) == said
    assert repr(rooftile.Conv2d(WEIGHTS)) == "<Conv2d of float32[5, 3, 3, 3]>"
    assert repr(rooftile.Linear(MATRIX, strategy="loops")) == (
        "<Linear of float32[33, 70], strategy='loops'>"
    )


def test_the_kind_of_array_that_goes_in_comes_out_for_type_checkers_too():
    told = typing.get_type_hints(rooftile.Conv2d.__call__)
    assert isinstance(told["return"], typing.TypeVar)
    assert told["x"] is told["return"]
    assert told["out"] == told["x"] | None
