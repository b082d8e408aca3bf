"""Pool folding on warpgroups: pipelines, scaled numbers, how weights lie, what is refused."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.hard_inputs import HARD
from tests.support.ladder_checks import check, check_hard, draw_config, run
from tests.support.some_gpu import some_gpu

from .test_pool_folded_tf32 import LENET, folding

FP16, BF16, TF32 = RUNGS = [
    strategy("conv2d", f"pool_folded_wgmma_{name}", "cuda") for name in ("fp16", "bf16", "tf32")
]
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
PADDED = Conv2d(5, 3, 23, 27, 7, (6, 5), padding=(1, 2), pool=Pool.of("max", 2))


@each_rung
@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("rows", [1, 4, 8])
def test_every_pipeline(rung, specials, warps, rows, hopper):
    config = {"WARPS": warps, "BAND_ROWS": rows, "SEGMENTS": 1}
    for problem in (LENET, PADDED):
        check(rung, problem, hopper, seed=4, specials=specials, config=config)


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("pool", ["max", "average"])
@pytest.mark.parametrize(
    ("channels", "maps", "mask", "window"),
    [(4, 16, (7, 7), 4), (2, 3, (7, 7), 2), (8, 6, (3, 3), 2), (1, 5, (4, 5), 4)],
)
def test_scaled_numbers_are_as_good_as_tf32s(kind, pool, channels, maps, mask, window, hopper):
    if kind == "cancellation" and channels % 2:
        pytest.skip("terms cancel between pairs of channels")
    problem = Conv2d(3, channels, 24, 38, maps, mask, pool=Pool.of(pool, window))
    check_hard(TF32, problem, kind, hopper, seed=maps)


@each_rung
def test_teams_take_band_after_band(rung, hopper):
    problem = Conv2d(2000, 2, 12, 20, 3, (7, 5), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = random_inputs(problem, 0)
    bound = rung.bind(problem, parameters, hopper)
    for images in (2000, 1, 133):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, rung.precision)
        assert verdict.passed, verdict


@each_rung
@given(data=st.data())
def test_packed_weights_are_the_weights_at_every_place_of_a_window(rung, data):
    problem = data.draw(folding)
    assume(rung.why_not(problem) is None)
    config = draw_config(rung, problem, data.draw)
    _, weights, _ = random_inputs(problem, 0)
    packed = rung.pack(problem, weights, config).ravel()
    behind = weights.size if rung is TF32 else 0
    assert np.array_equal(packed[packed.size - behind :], weights.ravel()[:behind])
    groups, rows = -(-problem.maps // 4), (problem.mask[0] + 2) // 2 * 2
    # channel and row of a patch, group, dy, map and dx, column
    shape = problem.channels, rows, groups, 2, 4, 2, 8
    lie = packed[: packed.size - behind].reshape(shape)
    folded = lie.transpose(2, 4, 0, 1, 6, 3, 5).reshape(4 * groups, problem.channels, rows, 8, 2, 2)
    expected = np.zeros_like(folded)
    height, width = problem.mask
    for dy, dx in product((0, 1), (0, 1)):
        expected[: problem.maps, :, dy : dy + height, dx : dx + width, dy, dx] = weights
    assert np.array_equal(folded, expected)


def test_folds_stand_beside_each_other_where_strips_of_sixteen_leave_none_over():
    for columns, window, beside in ((8, 4, 1), (10, 4, 0), (4, 8, 1), (16, 2, 0)):
        problem = Conv2d(
            3, 1, 14, columns * window + 2, 8, (3, 3), pool=Pool.of("max", (2, window))
        )
        assert TF32.macros(problem, TF32.config(problem))["BESIDE"] == beside


def test_few_images_have_lower_bands():
    multiprocessors = TF32.machine.multiprocessors
    for images, rows in ((1, 4), (64, 4), (multiprocessors, 8), (8192, 8)):
        assert TF32.defaults(LENET.with_batch(images))["BAND_ROWS"] == rows


def test_strips_are_for_whole_warpgroups():
    """Of 14 rows of results bands of ten would leave half of a warpgroup's warps a task too few."""
    problem = Conv2d(10_000, 1, 32, 32, 6, (5, 5), activation="relu", pool=Pool.of("max", 2))
    config = TF32.defaults(problem)
    assert (config["BAND_ROWS"], config["SEGMENTS"], config["LEAST_BLOCKS"]) == (8, 2, 2)


def test_what_they_do_not_take():
    with pytest.raises(UnsupportedProblem, match="sm_90 alone, not sm_80"):
        TF32.compile(LENET, some_gpu("sm_80"))
    with pytest.raises(InputError, match="registers a thread"):
        TF32.compile(LENET, some_gpu("sm_90"), {"LEAST_BLOCKS": 2, "WARPS": 8})
