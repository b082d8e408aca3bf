"""What only the GPU rungs of linear can get wrong: shared sums, configs, long reductions."""

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.ops import Linear
from rooftile.strategies import ladder, strategy
from tests.support.ladder_checks import check, run

RUNGS = [pytest.param(rung, id=rung.name) for rung in ladder("linear", "opencl")]
TILE = strategy("linear", "register_tile", "opencl")


@pytest.mark.parametrize("rung", RUNGS)
def test_long_sums_of_one_sign_stay_in_the_budget(rung, device):
    problem = Linear(5, 30_011, 3)
    generator = np.random.default_rng(0)
    x, weights = (generator.random(shape, np.float32) for shape in ((5, 30_011), (3, 30_011)))
    bias = np.ones(3, np.float32)
    out = run(rung.bind(problem, (weights, bias), device), x)
    assert Expected(problem, x, weights, bias).judge(out, "ieee").passed


SERIAL = {"register_tile"}
"""The rungs that add a part's products in one sum, and say so."""


@pytest.mark.parametrize("rung", [one for one in RUNGS if one.id not in SERIAL])
def test_terms_that_nearly_cancel_stay_in_the_budget(rung, device, optimised):
    # Every rounding of a sum of all, one after the other, goes the same way.
    x = np.repeat(np.float32([1.3746161e6, -8.142319e5]), [189, 324]).reshape(1, 513)
    weights, bias = np.full((3, 513), 2.0**20, np.float32), np.zeros(3, np.float32)
    terms = x[0] * weights[0]
    assert (
        not Expected(Linear(1, 513, 1), x, weights[:1], bias[:1])
        .judge(np.cumsum(terms, dtype=np.float32)[-1].reshape(1, 1), "ieee")
        .passed
    )
    out = run(rung.bind(Linear(1, 513, 3), (weights, bias), device), x)
    assert Expected(Linear(1, 513, 3), x, weights, bias).judge(out, "ieee").passed


@pytest.mark.parametrize("parts", [2, 8, 16])
@pytest.mark.parametrize("inputs", [5, 129, 1024])
def test_parts_are_added_once_even_where_some_are_empty(parts, inputs, device):
    check(TILE, Linear(37, inputs, 45, "relu"), device, config={"PARTS": parts})


def test_tiles_are_as_large_as_the_problem_fills():
    def shape(problem):
        config = TILE.config(problem)
        return config["TILE_B"], config["TILE_O"], config["PARTS"]

    assert shape(Linear(10_000, 6272, 512)) == (128, 128, 4)
    assert shape(Linear(10_000, 255, 512)) == (128, 128, 1)
    assert shape(Linear(10_000, 1024, 32)) == (64, 32, 2)
    assert shape(Linear(256, 6272, 512)) == (64, 64, 8)
    assert shape(Linear(32, 32, 10)) == (32, 32, 1)


def test_the_workspace_is_what_the_parts_write():
    problem = Linear(256, 6272, 512)
    config = TILE.config(problem)
    assert TILE.workspace(problem, config) == {"partial": config["PARTS"] * 256 * 512}
    assert [step.launch.kernel for step in TILE.steps(problem, config)] == [
        "register_tile", "register_tile_finish",
    ]  # fmt: skip
    alone = {**config, "PARTS": 1}
    assert TILE.workspace(problem, alone) == {}
    assert [step.launch.kernel for step in TILE.steps(problem, alone)] == ["register_tile"]


def test_a_config_that_cannot_run_is_refused_with_its_reason(device):
    with pytest.raises(InputError, match="4 threads wide"):
        check(TILE, Linear(3, 4, 5), device, config={"TILE_O": 32, "RESULTS_O": 8})
