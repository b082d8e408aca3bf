"""The exponential of kernels and what is made of it: errors in units of the last place."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices.cpu.native.vector_math import ULPS

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 88.72284, 88.72285, -103.97, -104.5, 1e-42])


@pytest.fixture(scope="module")
def ulps(benchmark_script):
    """What `make ulps` runs over every float32."""
    return benchmark_script("ulps")


@pytest.fixture(scope="module")
def numbers():
    """Every 20,000th float32, numbers near zero, and special ones."""
    bits = np.arange(0, 2**32, 20_011, dtype=np.uint32)
    near = np.linspace(-20, 20, 50_000, dtype=np.float32)
    x = np.concatenate([bits.view(np.float32), near, np.array(SPECIAL, np.float32)])
    return np.resize(x, x.size // 16 * 16 + 16)


@pytest.mark.parametrize("name", ULPS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_stay_within_the_bound_on_any_float32(ulps, name, numbers):
    assert 0.5 <= ulps.worst(name, numbers).ulps <= ULPS[name]


@pytest.mark.parametrize("name", ULPS)
def test_bits_do_not_depend_on_the_width_of_vectors(ulps, name, numbers):
    np.testing.assert_array_equal(
        ulps.computed(name, numbers), ulps.computed(name, numbers, lanes=8)
    )


def test_what_is_wrong_is_infinitely_far_off(ulps, numbers, monkeypatch):
    right = ulps.computed

    def wrong(name, x):
        found = right(name, x)
        found[np.isnan(found)] = 0.0
        return found

    monkeypatch.setattr(ulps, "computed", wrong)
    assert ulps.worst("exp", numbers).ulps == np.inf


def test_a_bound_that_does_not_hold_is_exit_code_1(ulps, monkeypatch, capsys):
    few = ["--every", "400009"]
    assert ulps.main(few) == 0
    monkeypatch.setitem(ULPS, "tanh", 0.4)
    assert ulps.main(few) == 1
    assert "stated: 0.4, which is NOT what was found" in capsys.readouterr().out
