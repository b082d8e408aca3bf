"""Rows by the bulk copy engine: what it takes, and any such problem on a GPU."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.ops import Conv2d, Pool, named
from rooftile.strategies import strategy
from rooftile.strategies.contract.gpu import Fill
from tests.support.ladder_checks import check, draw_config, examples

BULK = strategy("conv2d", "direct_bulk", "cuda")
LENET = named("conv2d", "lenet-conv1", 3)
PROBLEMS = (
    LENET,
    # Three and six maps in a thread of four and eight; rows and columns left over.
    Conv2d(2, 1, 24, 32, 3, (5, 3), activation="tanh", pool=Pool.of("max", (2, 3))),
    Conv2d(3, 1, 28, 28, 6, (5, 5), activation="relu", pool=Pool.of("average", 2)),
    # Strides; no pool; a window of one result.
    Conv2d(2, 1, 37, 44, 2, (3, 4), (2, 3), activation="sigmoid"),
    Conv2d(2, 1, 4, 4, 1, (4, 4)),
    # Columns so few that rounding up to the engine's units reaches into the next band.
    Conv2d(5, 1, 40, 2, 2, (2, 1)),
    Conv2d(5, 1, 96, 1, 1, (2, 1)),
    # Rows that no window reads; rows beside each other in a thread may be left over too.
    Conv2d(2, 1, 43, 28, 4, (3, 3), activation="relu", pool=Pool.of("max", (3, 2))),
    # As much as a block may hold; bands that leave rows over.
    Conv2d(2, 1, 95, 96, 4, (3, 3), activation="relu", pool=Pool.of("max", 2)),
)
each_problem = pytest.mark.parametrize("problem", PROBLEMS)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Conv2d(1, 2, 8, 8, 1, (3, 3)), "one channel, not 2"),
        (Conv2d(1, 1, 8, 8, 1, (3, 3), padding=(1, 1)), "padding"),
        (Conv2d(1, 1, 9, 9, 1, (3, 3)), "no multiple of 16 bytes"),
        (Conv2d(1, 1, 8, 8, 9, (3, 3)), "more maps than a thread sums"),
        (Conv2d(1, 1, 16, 16, 4, (3, 3), pool=Pool.of("max", 4)), "more maps than a thread sums"),
        (Conv2d(1, 1, 8, 8, 1, (3, 3), pool=Pool.of("max", 3, 2)), "a thread owns whole windows"),
        (Conv2d(1, 1, 8, 8000, 1, (3, 3)), "bytes of an image a block"),
    ],
)
def test_says_what_it_does_not_take(problem, reason):
    assert reason in BULK.why_not(problem)


def test_wants_hopper_or_later():
    assert "sm_90 and later" in BULK.why_not_on("sm_89")
    assert BULK.why_not_on("sm_90") is None


@each_problem
def test_takes_one_group_of_maps_and_a_block_an_image(problem):
    assert BULK.why_not(problem) is None
    config = BULK.config(problem)
    (step,) = BULK.steps(problem, config)
    assert step.launch.grid == (problem.batch, 1, 1)
    assert config["THREAD_MAPS"] >= problem.maps
    shape = problem.parameter_shapes["weights"]
    packed = BULK.pack(problem, np.ones(shape, np.float32), config)
    assert packed.sum() == np.prod(shape)
    assert BULK.constants(problem, config) == {"taps": Fill("weights", packed.size)}


@each_problem
@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
def test_is_right_and_stays_inside_its_output(problem, specials, cuda_device):
    check(BULK, problem, cuda_device, seed=1, specials=specials)


_sizes = st.tuples(st.integers(1, 60), st.integers(1, 60))
_masks = st.tuples(st.integers(1, 7), st.integers(1, 7))
_windows = st.none() | st.tuples(st.integers(1, 3), st.integers(1, 4))
_strides = st.just((1, 1)) | st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(examples, max_examples=40)
@given(data=st.data())
def test_any_problem_with_any_config(cuda_device, data):
    window = data.draw(_windows)
    try:
        problem = Conv2d(
            data.draw(st.integers(1, 9)), 1, *data.draw(_sizes), data.draw(st.integers(1, 8)),
            data.draw(_masks), data.draw(_strides), (0, 0),
            data.draw(st.sampled_from(["none", "relu", "sigmoid"])),
            window and Pool.of(data.draw(st.sampled_from(["max", "average"])), window),
        )  # fmt: skip
    except InputError:
        return
    assume(BULK.why_not(problem) is None)
    check(BULK, problem, cuda_device, config=draw_config(BULK, problem, data.draw))
