"""Problems whose arrays are stored otherwise, and problems that return more."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.ops import Conv2d, Linear, Pool
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.layers.positions import CUT, NO_WINNER, places_of, positions_of
from rooftile.strategies import ladder

POOLED = Conv2d(2, 1, 12, 13, 3, (3, 3), activation="relu", pool=Pool.of("max", (2, 3)))
BOTH = dataclasses.replace(POOLED, returns=("y", "argmax"))


def test_it_is_another_problem_of_the_same_class():
    stored = BOTH.stored(x="float16", out="bfloat16:channels_last", argmax="uint8")
    assert isinstance(stored, Conv2d)
    assert stored != BOTH
    assert stored == pickle.loads(pickle.dumps(stored))
    assert hash(stored) == hash(pickle.loads(pickle.dumps(stored)))
    assert repr(stored) == (
        f"{BOTH!r}.stored(x='float16', out='bfloat16:channels_last', argmax='uint8')"
    )
    assert stored.with_batch(9).plain == BOTH.with_batch(9)
    assert all(other.storage == stored.storage for other in stored.neighbours())
    assert stored.stored(x="float32", out="float32:row_major", argmax="int32") == BOTH
    told = {name for name in stored.described_features() if name.startswith("storage")}
    assert told == {
        "storage:x:float16",
        "storage:out:bfloat16",
        "storage:out:channels_last",
        "storage:argmax:uint8",
    }


def test_bytes_are_those_of_arrays_as_stored():
    problem = Linear(8, 32, 16)
    stored = problem.stored(x="float16", out="float16")
    assert problem.bytes - stored.bytes == 2 * 8 * (32 + 16)


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        ("y", "float16", "expected one of"),
        ("x", "uint8", "'float16', 'bfloat16'"),
        ("bias", "channels_last", "'row_major'"),
        ("argmax", "float16", "'int32', 'uint8'"),
    ],
)
def test_what_no_array_may_be_stored_as(name, how, words):
    with pytest.raises(InputError, match=words):
        BOTH.stored(**{name: how})


def test_inputs_are_rounded_and_the_reference_is_of_them():
    stored = POOLED.stored(x="float16", out="float16")
    x, *parameters = stored.random(3)
    assert x.dtype == np.float16
    right = POOLED.reference(x.astype(np.float32), *parameters)
    np.testing.assert_array_equal(stored.reference(x, *parameters), right)
    expected = Expected(stored, x, *parameters)
    assert expected.judge(right.astype(np.float16), "ieee").passed
    # An output of 16 bits has half a unit in its last place, and no more.
    assert not expected.judge((right * 1.002).astype(np.float16), "ieee").passed


def judged(problem, change=None):
    x, *parameters = problem.random(5)
    # Relu cuts some windows.
    parameters[1] -= 2
    out, argmax = problem.plain.reference(x, *parameters)
    found = out.astype(np.float32)
    places = argmax
    if problem.array("argmax").dtype == "uint8":
        places = positions_of(problem.pool, problem.conv_size, np.where(out > 0, argmax, CUT))
    if change is not None:
        places = change(places.copy())
    return Expected(problem, x, *parameters).judge((found, places), "ieee")


@pytest.mark.parametrize("problem", [BOTH, BOTH.stored(argmax="uint8")], ids=["int32", "uint8"])
def test_argmax_is_where_the_windows_largest_is(problem):
    def moved(places):
        index = np.unravel_index(np.argmax(places != NO_WINNER), places.shape)
        places[index] = 1 if places[index] == 0 else 0
        return places

    assert judged(problem).passed
    assert not judged(problem, moved).passed
    assert not judged(problem, lambda places: places + 100).passed


def test_positions_say_what_relu_cut():
    """A window that relu cut has no winner, and another one has one."""
    problem = BOTH.stored(argmax="uint8")
    assert not judged(problem, lambda places: np.where(places == NO_WINNER, 0, places)).passed
    assert not judged(problem, lambda places: np.full_like(places, NO_WINNER)).passed


def test_gradients_of_positions_are_those_of_places():
    problem = Conv2dWeightsGradient(3, 1, 12, 13, 2, (3, 3), pool=Pool.of("max", 2))
    stored = problem.stored(where="uint8")
    x, dy, positions = stored.random(1)
    assert (positions == NO_WINNER).any()
    layer = problem.layer
    places = places_of(layer.pool, layer.conv_size, positions)
    zero = np.where(places == CUT, 0, dy)
    right = problem.reference(x, zero, np.where(places == CUT, 0, places))
    for found, wanted in zip(stored.reference(x, dy, positions), right, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_rungs_take_what_they_say_they_take():
    """Storage is a feature: a rung that names it takes it, and every other rung refuses it."""
    wide = Conv2d(4, 64, 14, 14, 64, (1, 1))
    takers = {
        rung.name
        for rung in ladder("conv2d", "cuda")
        if rung.why_not(wide.stored(x="float16")) is None
    }
    assert "pointwise_fp16" in takers
    assert not takers & {"naive", "pointwise_bf16", "pointwise_tf32"}
    for kind in ("cpu", "cuda", "opencl"):
        for rung in ladder("conv2d", kind):
            assert rung.why_not(wide.stored(weights="float16")) is not None


def test_rungs_that_require_a_feature_refuse_problems_without_it():
    required = [rung for rung in ladder("conv2d", "cuda") if "returns" in rung.requires]
    assert len(required) == 11
    for rung in required:
        assert rung.why_not(POOLED) is not None
    assert any(rung.why_not(BOTH.stored(argmax="uint8")) is None for rung in required)
    plain = [rung for rung in ladder("conv2d", "cuda") if not rung.requires]
    assert all(rung.why_not(BOTH) is not None for rung in plain)
