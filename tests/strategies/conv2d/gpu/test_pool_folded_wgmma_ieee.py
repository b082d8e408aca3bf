"""Pool folding for float32 as two parts of float16: hard inputs, weights, what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, Pool, widened
from rooftile.strategies import strategy
from tests.support.hard_inputs import HARD, SMALL
from tests.support.ladder_checks import check, check_hard, check_small, examples, run
from tests.support.preparing import prepared

IEEE = strategy("conv2d", "pool_folded_wgmma_ieee", "cuda")
FEW = Conv2d(3, 2, 46, 54, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))
LENET = Conv2d(3, 4, 40, 40, 16, (7, 7), activation="relu", pool=Pool.of("max", 4))
PADDED = Conv2d(5, 3, 23, 27, 7, (6, 5), padding=(1, 2), pool=Pool.of("max", 2))
BANDS = Conv2d(3, 3, 24, 26, 7, (6, 5), pool=Pool.of("average", 2))


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("pool", ["max", "average"])
@pytest.mark.parametrize(
    ("channels", "maps", "mask"),
    [(4, 16, (7, 7)), (2, 3, (7, 7)), (8, 6, (3, 3)), (12, 5, (4, 5))],
)
def test_split_products_have_float32s_error(kind, pool, channels, maps, mask, hopper):
    problem = Conv2d(3, channels, 24, 26, maps, mask, pool=Pool.of(pool, 2))
    check_hard(IEEE, problem, kind, hopper, seed=maps)


@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
@pytest.mark.parametrize("summed", [2, 4, 8])
@pytest.mark.parametrize("rows", [4, 8])
def test_every_pipeline(specials, summed, rows, hopper):
    config = {"SUMMED": summed, "WARPS": 4, "BAND_ROWS": rows, "SEGMENTS": 1}
    for problem in (FEW, LENET, PADDED, BANDS):
        check(IEEE, problem, hopper, seed=4, specials=specials, config=config)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("pool", ["max", "average"])
def test_small_numbers_keep_their_bits(kind, pool, hopper):
    check_small(IEEE, kind, pool, hopper)


def test_the_last_batch_may_be_partial(hopper):
    problem = Conv2d(500, 2, 12, 20, 3, (7, 5), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = random_inputs(problem, 0)
    bound = IEEE.bind(problem, parameters, hopper)
    for images in (500, 1, 133):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, "ieee")
        assert verdict.passed, verdict


def parts_of(problem, weights, device):
    """What the cores multiply, [part][map][channel][row][column], and the maps' exponents."""
    parameters = weights, np.zeros(problem.maps, np.float32)
    packed = prepared(IEEE, problem, parameters, device)["split"].view(np.float32)
    groups, slabs = -(-problem.maps // 4), (problem.mask[0] + 2) // 2
    behind = 4 * groups + 1 + weights.size
    halves = widened(packed[:-behind].view(np.uint16), "fp16")
    # slab, row, part, group, dy, map and dx, column of a patch
    shape = (-1, 2, 2, groups, 2, 4, 2, 8)
    found = halves.reshape(shape)[: problem.channels * slabs]
    found = found.reshape(problem.channels, slabs, *shape[1:]).transpose(3, 4, 6, 0, 1, 2, 8, 5, 7)
    # part, group and map, channel, row, column, dy, dx
    patches = found.reshape(2, 4 * groups, problem.channels, 2 * slabs, 8, 2, 2)
    height, width = problem.mask
    placed = [
        patches[:, : problem.maps, :, dy : dy + height, dx : dx + width, dy, dx]
        for dy in (0, 1)
        for dx in (0, 1)
    ]
    for other in placed[1:]:
        np.testing.assert_array_equal(other, placed[0])
    given = packed[-weights.size :].reshape(weights.shape)
    np.testing.assert_array_equal(given.view(np.uint32), weights.view(np.uint32))
    return placed[0], packed[-behind : -behind + problem.maps].astype(int)


@settings(examples, max_examples=5)
@given(
    st.integers(1, 4), st.integers(1, 9), st.integers(1, 7), st.integers(1, 7), st.integers(0, 9)
)
def test_two_parts_make_a_weight(device, channels, maps, height, width, seed):
    problem = Conv2d(2, channels, 16, 16, maps, (height, width), pool=Pool.of("max", 2))
    generator = np.random.default_rng(seed)
    weights = random_inputs(problem, seed)[1]
    weights *= np.exp2(generator.integers(-60, 60, (maps, 1, 1, 1))).astype(np.float32)
    (high, low), exponents = parts_of(problem, weights, device)
    together = high.astype(np.float64) + low.astype(np.float64) / 2**11
    back = np.ldexp(together, exponents[:, None, None, None])
    np.testing.assert_allclose(back, weights, rtol=2.0**-22)
    assert np.abs(high).max() < 2**15


def test_infinite_and_small_weights(device):
    problem = Conv2d(2, 8, 16, 16, 3, (3, 3), pool=Pool.of("max", 2))
    weights = np.zeros((3, 8, 3, 3), np.float32)
    weights[0, 0, 0] = [1, np.inf, np.nan]
    weights[1, 0, 0] = [2.0**127, -(2.0**101), 2.0**80]
    weights[2, 0, 0] = [2.0**-149, 2.0**-126, -0.0]
    (high, low), exponents = parts_of(problem, weights, device)
    assert exponents[:2].tolist() == [-14, 113]
    np.testing.assert_array_equal(high[0, 0, 0], [2**14, np.inf, np.nan])
    np.testing.assert_array_equal(low[0, 0, 0], [0, np.nan, np.nan])
    np.testing.assert_array_equal(high[1, 0, 0], [2**14, -(2.0**-12), 0])
    # Beyond float32's range nothing is scaled.
    np.testing.assert_array_equal(high[2, 0, 0], [2.0**-23, 1, 0])


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Conv2d(1, 1, 86, 86, 4, (7, 7), pool=Pool.of("max", 2)), "sums of 64 products"),
        (Conv2d(1, 4, 40, 40, 16, (7, 7)), "it folds a pool"),
        (Conv2d(1, 70, 20, 20, 16, (3, 3), pool=Pool.of("max", 2)), "slabs of weights"),
    ],
)
def test_says_what_it_does_not_take(problem, reason):
    assert reason in IEEE.why_not(problem)
