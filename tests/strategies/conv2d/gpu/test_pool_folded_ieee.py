"""Pool folding for split float32 and few maps: hard inputs, what is refused."""

import numpy as np
import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.hard_inputs import HARD
from tests.support.ladder_checks import check, check_hard, run

IEEE = strategy("conv2d", "pool_folded_ieee", "cuda")
LENET = Conv2d(3, 1, 86, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))
WIDE = Conv2d(3, 2, 46, 54, 6, (7, 7), activation="relu", pool=Pool.of("max", 4))
PADDED = Conv2d(5, 2, 23, 27, 7, (6, 5), padding=(1, 2), pool=Pool.of("max", 2))
BANDS = Conv2d(3, 2, 24, 26, 3, (5, 5), pool=Pool.of("average", 2))
UNEVEN = np.float32(1 + 2.0**-11 + 2.0**-23)
"""A number of which the split misses as much as of any, always in the same direction."""


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("pool", ["max", "average"])
@pytest.mark.parametrize(
    ("channels", "maps", "mask"), [(1, 4, (7, 7)), (2, 3, (7, 7)), (2, 6, (5, 5))]
)
def test_split_products_have_float32s_error(kind, pool, channels, maps, mask, cuda_device):
    if kind == "cancellation" and channels % 2:
        pytest.skip("terms cancel between pairs of channels")
    problem = Conv2d(3, channels, 24, 26, maps, mask, pool=Pool.of(pool, 2))
    check_hard(IEEE, problem, kind, cuda_device, seed=maps)


@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
@pytest.mark.parametrize("summed", [2, 4, 8])
@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize("rows", [4, 8])
def test_every_pipeline(specials, summed, buffers, rows, cuda_device):
    config = {"SUMMED": summed, "BUFFERS": buffers, "BAND_ROWS": rows}
    for problem in (LENET, WIDE, PADDED, BANDS):
        check(IEEE, problem, cuda_device, seed=4, specials=specials, config=config)


@pytest.mark.parametrize("value", [UNEVEN, 1 + 2.0**-11, 1.5 + 2.0**-11 + 2.0**-23])
@pytest.mark.parametrize("weight", [UNEVEN, -UNEVEN])
def test_errors_that_add_up_stay_within_the_budget(value, weight, cuda_device):
    x = np.full((3, 1, 86, 86), value, np.float32)
    weights, bias = np.full((4, 1, 7, 7), weight, np.float32), np.zeros(4, np.float32)
    bound = IEEE.bind(LENET, (weights, bias), cuda_device)
    verdict = Expected(LENET, x, weights, bias).judge(run(bound, x), "ieee")
    assert verdict.passed, verdict


def test_the_last_batch_may_be_partial(cuda_device):
    problem = Conv2d(500, 2, 18, 20, 3, (7, 5), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = random_inputs(problem, 0)
    bound = IEEE.bind(problem, parameters, cuda_device)
    for images in (500, 1, 133):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, "ieee")
        assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Conv2d(1, 1, 86, 86, 4, (6, 7), pool=Pool.of("max", 2)), "sums of 48 products"),
        (Conv2d(1, 4, 40, 40, 4, (7, 7)), "it folds a pool"),
        (Conv2d(1, 6, 20, 20, 4, (3, 3), pool=Pool.of("max", 2)), "slabs of weights"),
    ],
)
def test_says_what_it_does_not_take(problem, reason):
    assert reason in IEEE.why_not(problem)
