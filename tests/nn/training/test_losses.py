from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.nn.training.losses import cross_entropy


@given(st.integers(1, 9), st.integers(2, 6), st.integers(0, 99))
def test_the_gradient_is_that_of_finite_differences(n, classes, seed):
    generator = np.random.default_rng(seed)
    scores = 3 * generator.standard_normal((n, classes))
    labels = generator.integers(0, classes, n)
    direction = generator.standard_normal(scores.shape)
    _, gradient = cross_entropy(scores, labels)
    ahead, _ = cross_entropy(scores + 1e-5 * direction, labels)
    behind, _ = cross_entropy(scores - 1e-5 * direction, labels)
    assert (gradient * direction).sum() == pytest.approx((ahead - behind) / 2e-5, abs=1e-8)


def test_the_loss_of_equal_scores_is_the_logarithm_of_the_classes():
    loss, gradient = cross_entropy(np.zeros((2, 10), np.float32), np.array([0, 9], np.uint8))
    assert loss == pytest.approx(np.log(10))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient[0], [-0.45] + [0.05] * 9, rtol=1e-6)


def test_large_scores_do_not_overflow():
    scores = np.array([[1e30, 0], [-1e30, 0]], np.float32)
    loss, gradient = cross_entropy(scores, np.array([0, 1], np.uint8))
    assert loss == 0
    assert not gradient.any()
    assert np.isnan(cross_entropy(scores * np.nan, np.array([0, 1], np.uint8))[0])
