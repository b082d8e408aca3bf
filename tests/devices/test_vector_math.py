"""The exponential of kernels and what is made of it: errors in units of the last place."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source
from rooftile.devices.cpu.native.vector_math import ULPS

_TEXT = """
def kernel(x, out, sizes, begin, end):
    for j in range(begin * 16, end * 16, lanes()):
        store(out, j, {0}(load(x, j)))
"""
REFERENCES = {
    "exp": np.exp,
    "sigmoid": lambda z: np.exp(np.minimum(z, 0)) / (1 + np.exp(-np.abs(z))),
    "tanh": np.tanh,
}
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 88.72284, 88.72285, -103.97, -104.5, 1e-42])


def computed(name, x, lanes=None):
    """A function of many numbers, by vectors of so many lanes."""
    function = source(f"math_{name}", _TEXT.format(name), lanes=lanes)
    out = np.full_like(x, 7.0)
    run = cpu.Spread(function, ["float32", "float32"])
    run((x, out), np.zeros(1, np.int64), x.size // 16, 1)
    return out


@pytest.fixture(scope="module")
def numbers():
    """Every 20,000th float32, numbers near zero, and special ones."""
    bits = np.arange(0, 2**32, 20_011, dtype=np.uint32)
    x = np.concatenate([bits.view(np.float32), np.linspace(-20, 20, 50_000), SPECIAL])
    return np.resize(x.astype(np.float32), x.size // 16 * 16 + 16)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_stay_within_the_bound_on_any_float32(name, numbers):
    found = computed(name, numbers)
    expected = REFERENCES[name](numbers.astype(np.float64))
    rounded = expected.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
    np.testing.assert_array_equal(found[np.isinf(rounded)], rounded[np.isinf(rounded)])
    finite = np.isfinite(rounded)
    unit = np.spacing(np.abs(rounded[finite])).astype(np.float64)
    errors = np.abs(found[finite] - expected[finite]) / unit
    assert errors.max() <= ULPS[name]
    np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(rounded[finite]))


@pytest.mark.parametrize("name", REFERENCES)
def test_bits_do_not_depend_on_the_width_of_vectors(name, numbers):
    np.testing.assert_array_equal(computed(name, numbers), computed(name, numbers, lanes=8))
