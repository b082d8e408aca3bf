"""Every GPU rung of conv2d on the first NVIDIA GPU."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ladder_checks import (
    RUNGS,
    check,
    check_any,
    check_many_images,
    check_partial_batch,
    check_wrong,
    examples,
    taken,
)
from wrong_texts import PROBLEM, WRONG, wrong

from rooftile.devices import cuda
from rooftile.errors import DeviceMissing
from rooftile.ops import Conv2d
from rooftile.ops.conv2d import NAMED
from rooftile.strategies import strategy

pytestmark = pytest.mark.gpu

NAMED_PROBLEMS = [make(min(batch, 3)) for make, batch in NAMED.values()]


@pytest.fixture(scope="module")
def device():
    try:
        return cuda.open_device()
    except DeviceMissing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("rung", "problem"), taken())
def test_is_right_repeatable_and_stays_inside_its_output(rung, problem, device):
    check(rung, problem, device, seed=1)


@pytest.mark.parametrize(("rung", "problem"), taken(NAMED_PROBLEMS))
def test_named_problems(rung, problem, device):
    check(rung, problem, device, seed=1)


@pytest.mark.parametrize(("rung", "problem"), taken())
@pytest.mark.parametrize("specials", [(0,), (1, 2)], ids=["input", "parameters"])
def test_nan_and_infinity_propagate(rung, problem, specials, device):
    check(rung, problem, device, seed=2, specials=specials)


@pytest.mark.parametrize("rung", RUNGS)
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_problem_with_any_config(rung, device, data):
    check_any(rung, device, data)


@pytest.mark.parametrize("rung", RUNGS)
def test_the_last_batch_may_be_partial(rung, device):
    check_partial_batch(rung, device)


@pytest.mark.parametrize("rung", RUNGS)
def test_images_beyond_the_grid(rung, device):
    check_many_images(rung, device)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_text_is_caught(name, device):
    with pytest.raises(AssertionError):
        check_wrong(wrong(name), PROBLEM, device)


def test_weights_beyond_constant_memory_go_by_slices_of_maps(device):
    rung = strategy("conv2d", "constant", "cuda")
    check(rung, Conv2d(2, 300, 6, 7, 9, (5, 5), padding=(2, 2), activation="relu"), device)
