"""Bound strategies that wait for the next call of their problem."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rooftile
from rooftile.functional import dense
from rooftile.ops import Conv2d, Linear
from rooftile.runtime import host_calls
from rooftile.runtime.choice import decide
from rooftile.strategies.cpu import LentKernel


def values(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.fixture
def waiting(monkeypatch):
    """None waits from other tests."""
    made = host_calls._Waiting(most_bytes=2**20)
    monkeypatch.setattr(host_calls, "_waiting", made)
    return made


def test_a_second_call_takes_what_the_first_one_bound(waiting, monkeypatch):
    x, weights = values(0, 2, 3, 10, 20), values(1, 4, 3, 3, 3)
    first = rooftile.conv2d(x, weights)
    rung = decide(Conv2d(2, 3, 10, 20, 4, (3, 3))).strategy
    monkeypatch.setattr(type(rung), "bind", lambda *_: pytest.fail("bound again"))
    other = rooftile.conv2d(x, 2 * weights, values(2, 4))
    np.testing.assert_allclose(other, 2 * first + values(2, 4)[:, None, None], atol=1e-4)
    # The bias of the call before is not there any more.
    np.testing.assert_array_equal(rooftile.conv2d(x, weights), first)


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
