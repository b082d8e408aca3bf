"""A second opinion of our own rung: right results agree, one wrong element does not."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.lab.audit.checks.rounding import CLAIMS
from rooftile.lab.audit.checks.second import Second
from rooftile.lab.judge.expected import as_operands
from rooftile.ops import Conv2d, Pool, Softmax
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.problem import outputs_of

PROBLEMS = (
    (Conv2d(9, 2, 9, 8, 3, (3, 2), activation="relu", pool=Pool.of("max", 2)), "ieee"),
    (Conv2d(9, 2, 9, 8, 3, (3, 2), activation="sigmoid"), "fp16"),
    (Softmax(9, 30), "ieee"),
    (Pool2dWinners(9, 2, 8, 9, Pool.of("max", 2)), "ieee"),
    (Sort((70,)), "ieee"),
)


def exam(problem, claim):
    model, arrays = CLAIMS[claim], problem.random(3)
    references = outputs_of(problem.reference(*as_operands(problem, arrays, model.operands)))
    kinds = [output.numpy for output in problem.output_arrays]
    outs = tuple(np.asarray(one).astype(k) for one, k in zip(references, kinds, strict=True))
    second = Second.of(problem, "cpu", model)
    assert second is not None
    return second, outs, arrays


@pytest.mark.parametrize(("problem", "claim"), PROBLEMS, ids=str)
def test_right_results_agree_and_one_wrong_element_does_not(problem, claim):
    generator = np.random.default_rng()
    second, outs, arrays = exam(problem, claim)
    assert second.agrees(outs, arrays, generator)
    for wrong in (np.nan, np.inf, -3.0):
        spoilt = tuple(out.copy() for out in outs)
        spoilt[0].reshape(-1)[generator.integers(spoilt[0].size)] = wrong
        assert not second.agrees(spoilt, arrays, generator)


def test_a_sum_without_a_batch_is_left_to_the_reference():
    assert Second.of(Scan((70,)), "cpu", CLAIMS["ieee"]) is None
