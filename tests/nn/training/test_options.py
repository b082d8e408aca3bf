from __future__ import annotations

import dataclasses
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.nn.training import TrainingOptions


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0), ("epochs", 1.5), ("batch", 0), ("threads", 0), ("seed", -1), ("seed", "1"),
        ("shift", -1), ("holdout", -1), ("optimizer", "lion"), ("schedule", "linear"),
        ("learning_rate", 0.0), ("learning_rate", math.nan), ("learning_rate", math.inf),
        ("momentum", 1.0), ("momentum", -0.1), ("weight_decay", -1.0), ("weight_decay", math.nan),
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_named(name, value):
    with pytest.raises(InputError, match=name):
        TrainingOptions(**{name: value})


@given(st.sampled_from(["cosine", "step", "constant"]), st.floats(0, 1), st.floats(0, 1))
def test_the_rate_starts_at_the_given_one_and_never_rises(schedule, one, other):
    options = TrainingOptions(schedule=schedule, learning_rate=0.5)
    assert options.rate(0) == 0.5
    assert 0 <= options.rate(max(one, other)) <= options.rate(min(one, other)) <= 0.5


def test_the_rates_by_hand():
    cosine = TrainingOptions(schedule="cosine", learning_rate=0.5)
    assert [cosine.rate(p) for p in (0.5, 1)] == pytest.approx([0.25, 0], abs=1e-12)
    step = TrainingOptions(schedule="step", learning_rate=0.5)
    assert [step.rate(p) for p in (0.3, 0.4, 0.7)] == pytest.approx([0.5, 0.05, 0.005])
    assert TrainingOptions(schedule="constant", learning_rate=0.5).rate(1) == 0.5


def test_the_optimizer_may_be_spelled_as_it_was():
    options = TrainingOptions(optimiser="sgd")
    assert options == TrainingOptions(optimizer="sgd")
    assert options.optimiser == options.optimizer == "sgd"
    assert dataclasses.replace(options, optimizer="adam").optimizer == "adam"
    assert pickle.loads(pickle.dumps(options)) == options
    assert {options.to_json()[name] for name in ("optimizer", "optimiser")} == {"sgd"}
    with pytest.raises(InputError, match="optimiser='adam'"):
        TrainingOptions(optimizer="sgd", optimiser="adam")


def test_nothing_is_augmented_unless_somebody_asks():
    assert (TrainingOptions().shift, TrainingOptions().flip) == (0, False)
