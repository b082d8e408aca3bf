"""Pool folding in TF32, warp by warp: how weights lie, what is refused."""

from itertools import product

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.ladder_checks import draw_config, run

TF32 = strategy("conv2d", "pool_folded_tf32", "cuda")
LENET = Conv2d(3, 4, 40, 40, 16, (7, 7), activation="relu", pool=Pool.of("max", 4))

folding = st.builds(
    Conv2d, st.integers(1, 3), st.integers(1, 6), st.integers(8, 30), st.integers(8, 30),
    st.integers(1, 17), st.tuples(st.integers(1, 7), st.integers(1, 7)), st.just((1, 1)),
    st.just((0, 0)), st.just("relu"), st.just(Pool.of("max", 2)),
)  # fmt: skip


def test_the_last_batch_may_be_partial(cuda_device):
    problem = Conv2d(500, 2, 12, 20, 3, (7, 5), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = random_inputs(problem, 0)
    bound = TF32.bind(problem, parameters, cuda_device)
    for images in (500, 1, 133):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, TF32.precision)
        assert verdict.passed, verdict


def _unpacked(packed, groups, slabs):
    """[map][channel and slab][row][element of a patch's row][dy][dx], as instructions read it."""
    folded = np.zeros((4 * groups, slabs, 2, 8, 2, 2), np.float32)
    for slab, row, group, dy, column, k in product(
        range(slabs), (0, 1), range(groups), (0, 1), range(8), range(8)
    ):
        # Column k of the left matrix: a lane's first element, and behind four of them its second.
        lane, second = k % 4, k // 4
        at = (((group * slabs + slab) * 2 + row) * 4 + 2 * dy + second) * 32
        at += 4 * column + lane
        place = (group * 4 + column // 2, slab, row, 2 * lane + second, dy, column % 2)
        folded[place] = packed[at]
    return folded


@given(data=st.data())
def test_packed_weights_are_the_weights_at_every_place_of_a_window(data):
    problem = data.draw(folding)
    assume(TF32.why_not(problem) is None)
    config = draw_config(TF32, problem, data.draw)
    _, weights, _ = random_inputs(problem, 0)
    packed = TF32.pack(problem, weights, config).ravel()
    own = weights.size
    assert np.array_equal(packed[-own:], weights.ravel())
    groups, rows = -(-problem.maps // 4), (problem.mask[0] + 2) // 2 * 2
    folded = _unpacked(packed[:-own], groups, problem.channels * rows // 2)
    folded = folded.reshape(4 * groups, problem.channels, rows, 8, 2, 2)
    expected = np.zeros_like(folded)
    height, width = problem.mask
    for dy, dx in product((0, 1), (0, 1)):
        expected[: problem.maps, :, dy : dy + height, dx : dx + width, dy, dx] = weights
    assert np.array_equal(folded, expected)
    assert np.count_nonzero(packed[:-own]) == np.count_nonzero(expected)


def test_what_it_does_not_take():
    assert "slabs of weights" in TF32.why_not(LENET)
