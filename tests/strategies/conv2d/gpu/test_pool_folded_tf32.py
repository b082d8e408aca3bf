"""Pool folding in TF32: pipelines, how weights lie, what is refused."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ladder_checks import check, draw_config, run

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from some_gpu import some_gpu

TF32, WGMMA = RUNGS = [
    strategy("conv2d", f"pool_folded_{name}", "cuda") for name in ("tf32", "wgmma_tf32")
]
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
LENET = Conv2d(3, 4, 40, 40, 16, (7, 7), activation="relu", pool=Pool.of("max", 4))

folding = st.builds(
    Conv2d, st.integers(1, 3), st.integers(1, 6), st.integers(8, 30), st.integers(8, 30),
    st.integers(1, 17), st.tuples(st.integers(1, 7), st.integers(1, 7)), st.just((1, 1)),
    st.just((0, 0)), st.just("relu"), st.just(Pool.of("max", 2)),
)  # fmt: skip


@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
@pytest.mark.parametrize("run_slabs", [0, 1, 2, 4])
@pytest.mark.parametrize("buffers", [1, 2])
def test_every_pipeline(specials, run_slabs, buffers, hopper):
    config = {"RUN": run_slabs, "BUFFERS": buffers, "WARPS": 4}
    for problem in (LENET, Conv2d(5, 3, 23, 27, 7, (6, 5), padding=(1, 2), pool=Pool.of("max", 2))):
        check(WGMMA, problem, hopper, seed=4, specials=specials, config=config)


@each_rung
def test_the_last_batch_may_be_partial(rung, cuda_device):
    problem = Conv2d(500, 2, 12, 20, 3, (7, 5), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = random_inputs(problem, 0)
    if rung.why_not_on(cuda_device.description.architecture):
        pytest.skip("another architecture")
    bound = rung.bind(problem, parameters, cuda_device)
    for images in (500, 1, 133):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, rung.precision)
        assert verdict.passed, verdict


def _unpacked(rung, problem, packed, groups, slabs):
    """[map][channel and slab][row][element of a patch's row][dy][dx], as instructions read it."""
    folded = np.zeros((4 * groups, slabs, 2, 8, 2, 2), np.float32)
    for slab, row, group, dy, column, k in product(
        range(slabs), (0, 1), range(groups), (0, 1), range(8), range(8)
    ):
        # Column k of the left matrix: a lane's first element, and behind four of them its second.
        lane, second = k % 4, k // 4
        if rung.wgmma:
            # Core matrices of eight columns and four deep, both halves of the depth far apart.
            at = (((slab * 2 + row) * 2 + second) * groups + group) * 64 + dy * 32
            at += column * 4 + lane
        else:
            at = (((group * slabs + slab) * 2 + row) * 4 + 2 * dy + second) * 32
            at += 4 * column + lane
        place = (group * 4 + column // 2, slab, row, 2 * lane + second, dy, column % 2)
        folded[place] = packed[at]
    return folded


@each_rung
@given(data=st.data())
def test_packed_weights_are_the_weights_at_every_place_of_a_window(rung, data):
    problem = data.draw(folding)
    assume(rung.why_not(problem) is None)
    config = draw_config(rung, problem, data.draw)
    _, weights, _ = random_inputs(problem, 0)
    packed = rung.pack(problem, weights, config).ravel()
    own = weights.size
    assert np.array_equal(packed[-own:], weights.ravel())
    groups, rows = -(-problem.maps // 4), (problem.mask[0] + 2) // 2 * 2
    slabs = problem.channels * rows // 2
    folded = _unpacked(rung, problem, packed[:-own], groups, slabs)
    folded = folded.reshape(4 * groups, problem.channels, rows, 8, 2, 2)
    expected = np.zeros_like(folded)
    height, width = problem.mask
    for dy, dx in product((0, 1), (0, 1)):
        expected[: problem.maps, :, dy : dy + height, dx : dx + width, dy, dx] = weights
    assert np.array_equal(folded, expected)
    assert np.count_nonzero(packed[:-own]) == np.count_nonzero(expected)


def test_what_they_do_not_take():
    assert "slabs of weights" in TF32.why_not(LENET)
    with pytest.raises(UnsupportedProblem, match="sm_90 alone, not sm_80"):
        WGMMA.compile(LENET, some_gpu("sm_80"))
    with pytest.raises(InputError, match="registers a thread"):
        WGMMA.compile(LENET, some_gpu("sm_90"), {"RUN": 0, "WARPS": 12})
