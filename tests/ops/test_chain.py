from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.verify import Exam
from rooftile.ops import Conv2d, Linear, Pool, Softmax
from rooftile.ops.layers.chain import Chain

CONV = Conv2d(3, 2, 10, 10, 4, (3, 3), activation="relu", pool=Pool.of("max", 2))
CHAIN = Chain((("conv", CONV), ("fc1", Linear(3, 64, 8, "tanh")), ("fc2", Linear(3, 8, 5))))


def _float32_forward(x, parameters):
    for problem, own in CHAIN.shares(parameters):
        x = problem.reference(x.reshape(problem.input_shape), *own).astype(np.float32)
    return x


def test_sizes_follow_from_the_layers():
    assert CHAIN.input_shape == (3, 2, 10, 10)
    assert CHAIN.output_shape == (3, 5)
    assert CHAIN.flops == sum(problem.flops for problem in CHAIN.problems)
    assert list(CHAIN.parameter_shapes)[:3] == ["conv.weights", "conv.bias", "fc1.weights"]
    assert CHAIN.with_batch(7).output_shape == (7, 5)
    small = 4 * (3 * 200 + 4 * 18 + 4 + 64 * 8 + 8 + 8 * 5 + 5 + 15)
    assert small == CHAIN.bytes


def test_rounding_between_layers_passes_and_a_wrong_layer_does_not():
    exam = Exam(CHAIN, seed=1)
    verdict = exam.expected.judge(_float32_forward(exam.x, exam.parameters), "ieee")
    assert verdict.passed, verdict
    wrong = [p.copy() for p in exam.parameters]
    wrong[0][0, 0, 0, 0] += 0.01
    assert not exam.expected.judge(_float32_forward(exam.x, wrong), "ieee").passed


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ((), "at least one"),
        ((("conv", CONV), ("fc", Linear(3, 63, 8))), "fc"),
        ((("conv", CONV), ("fc", Linear(4, 48, 8))), "fc"),
        ((("classes", Softmax(3, 5)),), "softmax"),
    ],
)
def test_layers_must_fit(layers, text):
    with pytest.raises(InputError, match=text):
        Chain(layers)
