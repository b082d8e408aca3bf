"""Bound strategies that wait for the next call of their problem."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rooftile
from rooftile.devices import cpu
from rooftile.devices.cpu import memory
from rooftile.errors import OutOfMemory
from rooftile.functional import dense, scores
from rooftile.ops import Conv2d, Linear, Softmax
from rooftile.runtime.arrays import libraries, results
from rooftile.runtime.arrays.base import UNSEEN, NumPy
from rooftile.runtime.calls import host
from rooftile.runtime.parameters import HostParameters
from rooftile.runtime.selection.choice import decide
from rooftile.strategies.contract.cpu_kernel import LentKernel


def values(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.fixture
def waiting(monkeypatch):
    """None waits from other tests."""
    made = host.Waiting(most_bytes=2**26)
    monkeypatch.setattr(host, "waiting_calls", made)
    return made


def test_a_second_call_takes_what_the_first_one_bound(waiting, monkeypatch):
    x, weights = values(0, 2, 3, 160, 170), values(1, 4, 3, 3, 3)
    first = rooftile.conv2d(x, weights)
    rung = decide(Conv2d(2, 3, 160, 170, 4, (3, 3))).strategy
    monkeypatch.setattr(type(rung), "bind", lambda *_: pytest.fail("bound again"))
    other = rooftile.conv2d(x, 2 * weights, values(2, 4))
    np.testing.assert_allclose(other, 2 * first + values(2, 4)[:, None, None], atol=1e-4)
    # The bias of the call before is not there any more.
    np.testing.assert_array_equal(rooftile.conv2d(x, weights), first)


def test_calls_of_a_small_problem_keep_what_they_bound(waiting, monkeypatch):
    x, bias = values(0, 2, 3, 10, 20), values(2, 4)
    call = lambda scale, b: rooftile.conv2d(x, scale * values(1, 4, 3, 3, 3), b)  # noqa: E731
    first, biased = call(1, None), call(1, bias)
    assert not any(waiting._bound.values())
    rung = decide(Conv2d(2, 3, 10, 20, 4, (3, 3))).strategy
    monkeypatch.setattr(type(rung), "bind", lambda *_: pytest.fail("bound again"))
    np.testing.assert_allclose(call(2, None), 2 * first, atol=1e-4)
    np.testing.assert_array_equal(call(1, bias), biased)
    np.testing.assert_array_equal(call(1, None), first)


SMALL = [
    ("conv2d", (2, 3, 10, 20), (4, 3, 3, 3), {"strategy": "register_tile"}),
    ("conv2d", (1, 1, 28, 28), (8, 1, 5, 5), {"activation": "relu", "pool": ("max", 2)}),
    ("conv2d", (2, 9, 11, 7), (19, 9, 3, 3), {"strategy": "map_vectors", "padding": 1}),
    ("conv2d", (1, 70, 6, 6), (21, 70, 3, 3), {"strategy": "map_vectors"}),
    ("conv2d", (1, 8, 20, 20), (6, 8, 3, 3), {"precision": "fast", "strategy": "winograd"}),
    ("linear", (5, 70), (33, 70), {"activation": "tanh"}),
    ("linear", (1, 300), (17, 300), {}),
]
"""Functions with shapes of the input and the weights, and options."""


@pytest.mark.parametrize(("function", "shape", "weights", "options"), SMALL)
@pytest.mark.parametrize("biased", [True, False, None])
def test_repeated_calls_of_a_small_problem_pack_what_they_are_given(
    waiting, function, shape, weights, options, biased
):
    call = getattr(rooftile, function)
    prepared = {"conv2d": rooftile.Conv2d, "linear": rooftile.Linear}[function]
    out = None
    for seed in range(4):
        x, w = values(seed, *shape), values(seed + 10, *weights)
        b = values(seed + 20, weights[0]) if biased else None
        # A bias that is not given, or None, is zero.
        given = (x, w) if biased is False else (x, w, b)
        expected = prepared(w, b, **options)(x)
        np.testing.assert_array_equal(call(*given, **options), expected)
        out = np.full_like(expected, np.nan) if out is None else out
        assert call(*given, **options, out=out) is out
        np.testing.assert_array_equal(out, expected)
        w *= 2
        np.testing.assert_array_equal(call(*given, **options), prepared(w, b, **options)(x))


@pytest.mark.parametrize(("image", "mask"), [((1, 28, 28), 5), ((4, 40, 40), 7)])
def test_repeated_calls_of_a_small_problem_by_eight_threads(waiting, image, mask):
    # The second takes so long that it gives the GIL back.
    x = values(0, 1, *image)
    assert (Conv2d(1, *image, 8, (mask, mask)).flops > host.MOST_FLOPS) == (mask == 7)
    sets = [(values(k, 8, image[0], mask, mask), values(k + 50, 8)) for k in range(8)]
    expected = [rooftile.Conv2d(*own)(x) for own in sets]

    def work(k):
        return [np.array_equal(rooftile.conv2d(x, *sets[k]), expected[k]) for _ in range(200)]

    with ThreadPoolExecutor(8) as pool:
        assert all(map(all, pool.map(work, range(8))))


def test_a_strategy_that_cannot_take_other_parameters_does_not_wait(waiting):
    x, weights = values(0, 2, 3, 10, 20), values(1, 4, 3, 3, 3)
    for scale in (1, 2):
        y = rooftile.conv2d(x, scale * weights, strategy="im2col")
        np.testing.assert_allclose(y, rooftile.conv2d(x, scale * weights), atol=1e-3)
    assert not any("im2col" in key[0].name for key in waiting._bound)


def test_the_least_recently_used_go_first(waiting):
    weights = values(0, 300, 300)
    rooftile.linear(values(1, 9, 300), weights)
    ((one,),) = waiting._bound.values()
    waiting._most = 2 * one.nbytes + 2**10
    for batch in (5, 6, 7, 8):
        rooftile.linear(values(1, batch, 300), weights)
    held = [key[1].batch for key in waiting._bound]
    assert held == [7, 8]
    assert waiting._bytes == sum(b.nbytes for bs in waiting._bound.values() for b in bs)
    assert waiting.take(decide(Linear(5, 300, 300))) is None


@pytest.mark.parametrize("activation", ["none", "relu", "tanh"])
@pytest.mark.parametrize(
    ("batch", "inputs", "outputs"), [(1, 449, 150), (4, 1345, 50), (3, 900, 80)]
)
def test_few_rows_are_multiplied_with_weights_as_they_lie(
    batch, inputs, outputs, activation, waiting
):
    x, weights, bias = values(0, batch, inputs), values(1, outputs, inputs), values(2, outputs)
    layer = rooftile.Linear(weights, bias, activation=activation)
    for special in (0.0, np.nan, np.inf):
        x[0, 3] += special
        with np.errstate(invalid="ignore"):
            y = rooftile.linear(x, weights, bias, activation=activation)
            np.testing.assert_array_equal(y, layer(x))
    ((one,),) = waiting._bound.values()
    assert isinstance(one.call, LentKernel)
    assert one.call._lent == ()


def test_threads_with_weights_of_their_own(waiting):
    x = values(0, 4, 70)
    matrices = [values(n, 33, 70) for n in range(8)]
    expected = [rooftile.linear(x, matrix) for matrix in matrices]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: rooftile.linear(x, matrices[n % 8]), range(200)))
    for n, y in enumerate(found):
        np.testing.assert_array_equal(y, expected[n % 8])


def test_a_repeated_call_does_what_the_first_one_does(waiting, monkeypatch):
    x, weights, bias = values(0, 2, 3, 10, 20), values(1, 4, 3, 3, 3), values(2, 4)
    plain = rooftile.conv2d(x, weights, bias)
    with_none = rooftile.conv2d(x, weights)
    monkeypatch.setattr(dense, "run", lambda *_: pytest.fail("went the long way"))
    out = np.full_like(plain, np.nan)
    assert rooftile.conv2d(x, weights, bias, out=out) is out
    np.testing.assert_array_equal(out, plain)
    np.testing.assert_array_equal(rooftile.conv2d(x, weights), with_none)


def test_a_large_repeated_call_of_several_threads(waiting):
    inputs = [values(n, 500, 400) for n in range(4)]
    assert 2 * inputs[0].nbytes > cpu.MOST_HELD
    expected = [rooftile.softmax(x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: rooftile.softmax(inputs[n % 4]), range(100)))
    for n, y in enumerate(found):
        np.testing.assert_array_equal(y, expected[n % 4])
    # The long way is there for what is not plain.
    np.testing.assert_array_equal(rooftile.softmax(inputs[0][::-1])[::-1], expected[0])


@pytest.mark.parametrize("what", ["view", "float64", "read only", "overlapping", "wrong shape"])
def test_what_is_not_plain_goes_the_long_way(what, waiting):
    x, weights = values(0, 6, 50), values(1, 50, 50)
    layer = rooftile.Linear(weights)
    expected = layer(x)
    np.testing.assert_array_equal(rooftile.linear(x, weights), expected)
    if what == "view":
        wide = np.repeat(x, 2, axis=1)
        for y in (layer(wide[:, ::2]), rooftile.linear(wide[:, ::2], weights)):
            np.testing.assert_array_equal(y, expected)
        return
    out = np.empty((6, 50), np.float32)
    out.flags.writeable = what != "read only"
    out = {"overlapping": x, "wrong shape": np.empty((5, 50), np.float32)}.get(what, out)
    given = x.astype(np.float64) if what == "float64" else x
    for call in (layer, lambda x, out: rooftile.linear(x, weights, out=out)):
        with pytest.raises(rooftile.InputError):
            call(given, out=out)


class Boxed:
    """An array of another library."""

    def __init__(self, array, special=False):
        self.array, self.special = array, special
        self.shape, self.dtype = array.shape, array.dtype


class Boxes(NumPy):
    """That library."""

    title = "a box"

    def on_host(self, name, array, dtypes=("float32",)):
        return super().on_host(name, array.array, dtypes)

    def from_host(self, result):
        return Boxed(result)

    def seen_by_numpy(self, array):
        return UNSEEN if not isinstance(array, Boxed) or array.special else array.array


@pytest.fixture
def longs(monkeypatch):
    """How many calls went the long way."""
    seen, run = [], dense.run
    for module in (dense, scores):
        monkeypatch.setattr(module, "run", lambda *given: seen.append(1) or run(*given))
    return seen


def test_another_librarys_arrays_are_seen_as_numpys(waiting, monkeypatch, longs):
    monkeypatch.setitem(libraries.libraries, Boxed, Boxes())
    x, weights, bias = (
        Boxed(values(n, *shape)) for n, shape in enumerate([(3, 17), (5, 17), (5,)])
    )
    for function, given in ((rooftile.softmax, (x,)), (rooftile.linear, (x, weights, bias))):
        plain = [one.array for one in given]
        longs.clear()
        expected = function(*plain)
        first, second = function(*given), function(*given)
        assert len(longs) == 2
        out = Boxed(np.full_like(expected, np.nan))
        assert function(*given, out=out) is out
        for found in (first, second, out):
            np.testing.assert_array_equal(found.array, expected)
        function(Boxed(x.array, special=True), *given[1:])
        function(*given, out=Boxed(out.array, special=True))
        assert len(longs) == 4


@pytest.mark.parametrize("prepared", [False, True])
def test_an_array_of_another_library_is_refused_also_by_a_repeated_call(monkeypatch, prepared):
    monkeypatch.setitem(libraries.libraries, Boxed, Boxes())
    x, weights, y = values(0, 3, 17), values(1, 5, 17), np.zeros((3, 5), np.float32)
    for wrap, other in ((Boxed, lambda a: a), (lambda a: a, Boxed)):
        given = wrap(x), wrap(weights)
        layer = rooftile.Linear(wrap(weights))
        call = (lambda x, _, layer=layer, **k: layer(x, **k)) if prepared else rooftile.linear
        for _ in range(3):
            call(*given)
            call(*given, out=wrap(y.copy()))
            with pytest.raises(rooftile.InputError, match="out"):
                call(*given, out=other(y))
            if not prepared:
                with pytest.raises(rooftile.InputError, match="weights"):
                    call(wrap(x), other(weights))


def test_a_prepared_operation_sees_another_librarys_arrays_as_numpys(monkeypatch):
    monkeypatch.setitem(libraries.libraries, Boxed, Boxes())
    longs, run = [], HostParameters.run
    monkeypatch.setattr(HostParameters, "run", lambda *given: longs.append(1) or run(*given))
    x, weights = Boxed(values(0, 3, 17)), Boxed(values(1, 5, 17))
    layer = rooftile.Linear(weights)
    expected = rooftile.linear(x.array, weights.array)
    first, second, out = layer(x), layer(x), Boxed(np.full_like(expected, np.nan))
    assert layer(x, out=out) is out
    assert len(longs) == 1
    for found in (first, second, out):
        np.testing.assert_array_equal(found.array, expected)
    np.testing.assert_array_equal(layer(Boxed(x.array, special=True)).array, expected)
    assert len(longs) == 2
    layer.update(Boxed(2 * weights.array))
    np.testing.assert_array_equal(layer(x).array, 2 * expected)


def test_strided_arrays_do_not_bind_anew(waiting, monkeypatch):
    wide = values(0, 7, 30)
    expected = rooftile.softmax(np.ascontiguousarray(wide[:, ::2]))
    rung = decide(Softmax(7, 15)).strategy
    rooftile.softmax(wide[:, ::2])
    monkeypatch.setattr(type(rung), "bind", lambda *_: pytest.fail("bound again"))
    np.testing.assert_array_equal(rooftile.softmax(wide[:, ::2]), expected)


def test_memory_of_a_large_result_is_used_again(monkeypatch):
    monkeypatch.setattr(results, "waiting_results", {})
    problem = Softmax(512, 600)
    (result,) = problem.output_arrays
    one = results.new_result(result)
    assert (one.shape, one.dtype) == ((512, 600), np.float32)
    place = one.ctypes.data
    assert place % 64 == 0
    part = one[100:].T
    del one
    # A view still needs it.
    assert results.new_result(result).ctypes.data != place
    del part
    assert results.new_result(result).ctypes.data == place


def test_little_memory_waits_and_none_where_it_is_short(monkeypatch):
    monkeypatch.setattr(results, "waiting_results", {})
    size = 512 * 600 * 4
    monkeypatch.setattr(results, "MOST_WAITING", 2 * size)
    monkeypatch.setattr(results, "LARGEST_WAITING", 2 * size)
    problems = [Softmax(512, 600).with_batch(rows) for rows in (512, 511, 510, 2048)]
    for problem in problems:
        (result,) = problem.output_arrays
        results.new_result(result)
        waits = sum(size * len(several) for size, several in results.waiting_results.items())
        assert waits <= 2 * size
    monkeypatch.setattr(memory, "free_bytes", lambda: 0)
    (result,) = Softmax(8192, 600).output_arrays
    with pytest.raises(OutOfMemory):
        results.new_result(result)
    assert not results.waiting_results
