"""Every GPU rung of conv2d, its very text, on each device: OpenCL on a CPU, and a GPU both ways."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.ops import Conv2d, Pool
from rooftile.ops.layers.conv2d import NAMED
from rooftile.strategies import strategy
from tests.support.ladder_checks import (
    PROBLEMS,
    RETURNING,
    RUNGS,
    check,
    check_any,
    check_any_returning,
    check_many_images,
    check_many_returning,
    check_partial_batch,
    check_partial_returning,
    check_refusal,
    check_returning,
    check_wrong,
    examples,
    returning,
    taken,
)

from .wrong_texts import PROBLEM, WRONG, wrong

NAMED_PROBLEMS = [make(min(batch, 3)) for make, batch in NAMED.values()]


@pytest.mark.parametrize(("rung", "problem"), taken())
def test_is_right_repeatable_and_stays_inside_its_output(rung, problem, device):
    check(rung, problem, device, seed=1)
    # NaN and infinities among the inputs, then among the parameters.
    for specials in ((0,), (1, 2)):
        check(rung, problem, device, seed=2, specials=specials)


@pytest.mark.parametrize(("rung", "problem"), taken(NAMED_PROBLEMS))
def test_named_problems(rung, problem, cuda_device):
    check(rung, problem, cuda_device, seed=1)


@pytest.mark.parametrize("rung", RUNGS)
@settings(examples, max_examples=4)
@given(data=st.data())
def test_any_problem_with_any_config(rung, device, data):
    # A GPU has time for more.
    for _ in range(3 if device.description.gpu else 1):
        check_any(rung, device, data)


@pytest.mark.parametrize("rung", RUNGS)
def test_the_last_batch_may_be_partial(rung, device):
    check_partial_batch(rung, device)


@pytest.mark.parametrize("rung", RUNGS)
def test_images_beyond_the_grid(rung, device, monkeypatch):
    check_many_images(rung, device, monkeypatch)


class TestArgmaxToo:
    """The rungs that return the argmax of their pool beside its result."""

    @pytest.mark.parametrize("rung", RETURNING)
    def test_is_right(self, rung, device):
        asked = [one for one in (returning(rung, problem) for problem in PROBLEMS) if one]
        assert asked
        for problem in asked:
            check_returning(rung, problem, device)

    @pytest.mark.parametrize("rung", RETURNING)
    def test_named_problems(self, rung, cuda_device):
        for problem in filter(None, (returning(rung, named) for named in NAMED_PROBLEMS)):
            check_returning(rung, problem, cuda_device)

    @pytest.mark.parametrize("rung", RETURNING)
    @settings(examples, max_examples=4)
    @given(data=st.data())
    def test_any_problem_with_any_config(self, rung, device, data):
        check_any_returning(rung, device, data)

    @pytest.mark.parametrize("rung", RETURNING)
    def test_the_last_batch_may_be_partial(self, rung, device):
        check_partial_returning(rung, device)

    @pytest.mark.parametrize("rung", RETURNING)
    def test_images_beyond_the_grid(self, rung, device, monkeypatch):
        check_many_returning(rung, device, monkeypatch)


@pytest.mark.parametrize("rung", RUNGS)
def test_a_refusal_is_an_error_with_its_reason(rung, device):
    for problem in PROBLEMS:
        if rung.why_not(problem) is not None:
            check_refusal(rung, problem, device)


def test_a_config_that_cannot_run_is_refused_with_its_reason(device):
    rung = strategy("conv2d", "tile_output", "opencl")
    problem = Conv2d(1, 1, 99, 99, 1, (3, 3))
    config = {"TILE_Y": 32, "TILE_X": 64}
    with pytest.raises(InputError, match="2048 threads a block, at most 1024"):
        check(rung, problem, device, config=config)
    strided = Conv2d(1, 1, 999, 999, 1, (7, 7), (4, 4))
    with pytest.raises(InputError, match="bytes of shared memory, at most 49152"):
        check(rung, strided, device, config={"TILE_Y": 16, "TILE_X": 64})


def test_pools_beyond_every_tile_are_refused():
    wide = Conv2d(1, 1, 90, 90, 1, (1, 1), pool=Pool.of("max", 80))
    for name in ("tile_output", "tile_input", "tile_core", "coarsened"):
        assert "no whole pooling window" in strategy("conv2d", name, "opencl").why_not(wide)


def test_weights_beyond_constant_memory_go_by_slices_of_maps(device):
    rung = strategy("conv2d", "constant", "opencl")
    problem = Conv2d(2, 300, 6, 7, 9, (5, 5), padding=(2, 2), activation="relu")
    assert [step.program for step in rung.steps(problem, rung.config(problem))] == [0, 1, 2, 3, 4]
    check(rung, problem, device)
    beyond = Conv2d(1, 656, 6, 7, 2, (5, 5))
    assert "65,600 bytes" in rung.why_not(beyond)
    assert "65,536" in rung.why_not(beyond)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_text_is_caught(name, device):
    with pytest.raises(AssertionError):
        check_wrong(wrong(name), PROBLEM, device)
