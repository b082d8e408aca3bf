"""A whole batch judged by a secret projection: right ones pass, a single wrong item does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.lab.audit.checks.projection import projected_right, projects, secret_weights
from rooftile.lab.audit.checks.rounding import CLAIMS
from rooftile.lab.judge.compare import budget_of
from rooftile.ops import Conv2d, Linear, Pool
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.separable import Separable

AFFINE = (
    Conv1d(30, 5, batch=5, channels=2, maps=3, rank=3),
    Conv3d(6, 7, 8, (3, 3, 3), batch=4, channels=2, maps=3, form="batch"),
    Linear(70, 40, 9),
    Separable(9, 12, (3, 5), batch=3, rank=3),
    Conv2dInputGradient(4, 2, 9, 8, 3, (3, 3)),
    Conv2d(6, 2, 9, 8, 3, (3, 2), stride=(2, 1), padding=(1, 0), pool=Pool.of("average", 2)),
)


def exam(problem, seed):
    arrays = problem.random(seed)
    return arrays, np.asarray(problem.reference(*arrays)).astype(np.float32)


@pytest.mark.parametrize("claim", ["ieee", "fast"])
@pytest.mark.parametrize("problem", AFFINE, ids=str)
def test_a_wrong_item_shows_and_a_right_batch_passes(problem, claim):
    generator, model = np.random.default_rng(7), CLAIMS[claim]
    assert projects(problem, model)
    for seed in range(4):
        arrays, out = exam(problem, seed)
        assert projected_right(problem, (out,), arrays, model, generator)
        for spoil in (lambda item: item * 1.2, np.zeros_like, lambda item: item[..., ::-1]):
            wrong, which = out.copy(), seed % len(out)
            wrong[which] = spoil(out[which])
            assert not projected_right(problem, (wrong,), arrays, model, generator)
        wrong = out.copy()
        wrong[0].reshape(-1)[3] = np.nan
        assert not projected_right(problem, (wrong,), arrays, model, generator)


@pytest.mark.parametrize("problem", AFFINE, ids=str)
def test_the_bound_covers_items_that_are_off_by_their_whole_budgets(problem):
    generator, model = np.random.default_rng(), CLAIMS["ieee"]
    (output,) = problem.output_arrays
    arrays, _ = exam(problem, 3)
    reference = np.asarray(problem.reference(*arrays))
    magnitude = np.asarray(problem.magnitude(*arrays))
    budget = budget_of(output, problem.judgement(output, model), reference, magnitude, model)
    for _ in range(5):
        signs = generator.choice([-1.0, 1.0], reference.shape)
        off = reference + 0.999 * signs * budget
        assert projected_right(problem, (off,), arrays, model, generator)


@given(st.integers(1, 300), st.integers(0, 2**32))
def test_weights(count, seed):
    weights = secret_weights(count, np.random.default_rng(seed))
    assert abs(weights.sum() - 1) < 1e-9
    assert np.abs(weights).min() > 0.99 / count
    assert np.abs(weights).sum() < count + 1e-9


def test_what_is_not_affine_is_not_projected():
    assert not projects(Conv2d(6, 2, 9, 8, 3, (3, 2), activation="relu"), CLAIMS["ieee"])
    assert not projects(Conv2d(6, 2, 9, 8, 3, (3, 2), pool=Pool.of("max", 2)), CLAIMS["ieee"])
    assert not projects(Conv2d(1, 2, 9, 8, 3, (3, 2)), CLAIMS["ieee"])
    assert not projects(Conv2d(600, 2, 9, 8, 3, (3, 2)), CLAIMS["bf16"])
    assert not projects(Separable(9, 12, (3, 5)), CLAIMS["ieee"])
