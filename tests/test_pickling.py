"""Objects of ours are pickled and copied, before and after calls, and copies stand alone."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import rooftile
from rooftile.nn import ConvLayer, LinearLayer, Network

GENERATOR = np.random.default_rng(44)


def values(*shape):
    return GENERATOR.standard_normal(shape, np.float32)


WEIGHTS, BIAS, IMAGES = values(4, 2, 3, 3), values(4), values(3, 2, 9, 8)
LAYERS = (ConvLayer("conv", 4, 3, activation="relu", pool=("max", 2)), LinearLayer("last", 3))
NETWORK = Network("small", (2, 9, 8), LAYERS).initialise(1)
OPTIONS = {"padding": 1, "activation": "relu", "pool": ("max", 2)}
MATRIX = np.eye(7, dtype=np.float32) + (values(7, 7) > 1)

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
}
MADE = {
    "Conv2d": (lambda: rooftile.Conv2d(WEIGHTS, BIAS, **OPTIONS), IMAGES),
    "Conv2d by im2col": (lambda: rooftile.Conv2d(WEIGHTS, strategy="im2col"), IMAGES),
    "Linear": (lambda: rooftile.Linear(values(5, 7), activation="tanh"), values(4, 7)),
    "plan": (lambda: NETWORK.plan(batch=2, threads=1), IMAGES),
    "plan by name": (lambda: NETWORK.plan(batch=2, strategies={"conv": "im2col"}), IMAGES),
    "network": (lambda: copy.deepcopy(NETWORK), IMAGES),
    **{
        f"Sparse {form}": (lambda form=form: rooftile.sparse(MATRIX).to(form), values(7))
        for form in ("csr", "ell", "coo")
    },
}
"""What makes an object, and what it is called with."""


def called(one, x):
    if isinstance(one, rooftile.Sparse):
        return rooftile.spmv(one, x)
    return one.predict(x) if isinstance(one, Network) else one(x)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize(("make", "x"), MADE.values(), ids=MADE)
def test_a_copy_computes_the_same_bits(make, x, copied):
    one = make()
    early = copied(one)
    expected = called(one, x)
    called(one, x)
    late = copied(one)
    for made in (early, late, late):
        np.testing.assert_array_equal(called(made, x), expected)
    assert type(late) is type(one)
    assert repr(late) == repr(one)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_has_parameters_of_its_own(copied):
    one = rooftile.Conv2d(WEIGHTS, BIAS)
    expected = one(IMAGES)
    made = copied(one)
    made.update(2 * WEIGHTS)
    np.testing.assert_array_equal(one(IMAGES), expected)
    np.testing.assert_array_equal(made(IMAGES), rooftile.conv2d(IMAGES, 2 * WEIGHTS))


def test_a_plan_keeps_what_it_was_asked_for():
    plan = NETWORK.plan(batch=5, precision="fast", threads=1, strategies={"last": "loops"})
    made = pickle.loads(pickle.dumps(plan))
    assert (made.batch, made.precision, made.threads) == (5, "fast", 1)
    assert made.strategies == plan.strategies


def test_objects_go_to_another_process():
    given = [(make(), x) for make, x in MADE.values()]
    for one, x in given:
        called(one, x)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        conv, x = given[0]
        np.testing.assert_array_equal(pool.submit(conv, x).result(timeout=60), conv(x))
        matrix, x = given[-1]
        found = pool.submit(rooftile.spmv, matrix, x).result(timeout=60)
        np.testing.assert_array_equal(found, rooftile.spmv(matrix, x))
        found = pool.submit(NETWORK.predict, IMAGES).result(timeout=60)
        np.testing.assert_array_equal(found, NETWORK.predict(IMAGES))
