"""Softmax in vectors: what it does where its arrays outgrow the cache."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.ops import Softmax
from rooftile.strategies import strategy
from rooftile.strategies.softmax.cpu import vectors


@pytest.mark.parametrize(("rows", "classes"), [(1, 1024), (5, 1031), (3, 4096)])
def test_lines_asked_for_early_change_no_bit(rows, classes, monkeypatch):
    x = np.random.default_rng(0).standard_normal((rows, classes), np.float32)
    problem, found, kernels = Softmax(rows, classes), [], []
    for outgrown in (False, True):
        monkeypatch.setattr(vectors, "pays", lambda nbytes, outgrown=outgrown: outgrown)
        rung = strategy("softmax", "vectors")
        kernels.append(rung.kernel(problem).function)
        out = np.full_like(x, np.nan)
        rung.bind(problem, (), cpu.open_device())(x, out)
        found.append(out)
    assert kernels[0] is not kernels[1]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], problem.reference(x), rtol=1e-5)
