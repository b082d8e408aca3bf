"""Implicit matrix products on Hopper's warpgroups: deep problems, splits, what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs, verify
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.hard_inputs import HARD, SMALL
from tests.support.ladder_checks import check, check_hard, check_small, draw_config, examples, run
from tests.support.some_gpu import some_gpu
from tests.support.storage import stored_by

RUNGS = [strategy("conv2d", f"implicit_gemm_{p}", "cuda") for p in ("fp16", "bf16", "tf32", "ieee")]
IEEE = RUNGS[-1]
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)

PROBLEMS = (
    # One tile, one tap; a batch; chunks of channels and tiles of maps left over.
    Conv2d(1, 64, 16, 16, 64, (1, 1)),
    Conv2d(2, 64, 16, 16, 128, (3, 3), padding=(1, 1), activation="relu"),
    Conv2d(2, 100, 33, 29, 70, (5, 5), padding=(2, 2), activation="relu", pool=Pool.of("max", 2)),
    # An average, ghost cells wider one way, more blocks' tiles than multiprocessors.
    Conv2d(3, 40, 50, 61, 200, (7, 7), (1, 1), (3, 2), "tanh", Pool.of("average", 2)),
    Conv2d(2, 130, 20, 90, 300, (2, 5), padding=(0, 4)),
)
deep = st.builds(
    Conv2d, st.integers(1, 3), st.integers(8, 150), st.integers(7, 40), st.integers(7, 40),
    st.integers(1, 150), st.tuples(st.integers(1, 7), st.integers(1, 7)), st.just((1, 1)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)), st.sampled_from(["none", "relu", "sigmoid"]),
    st.none() | st.sampled_from([Pool.of("max", 2), Pool.of("average", 2)]),
)  # fmt: skip


@each_rung
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
def test_deep_problems(rung, problem, specials, hopper):
    check(rung, problem, hopper, seed=1, specials=specials)


@each_rung
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_deep_problem_with_any_config(rung, hopper, data):
    problem = data.draw(deep.filter(lambda problem: rung.why_not(problem) is None))
    check(rung, problem, hopper, config=draw_config(rung, problem, data.draw))


@each_rung
def test_the_last_batch_may_be_partial(rung, hopper):
    problem = Conv2d(5, 64, 11, 20, 3, (3, 3), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = random_inputs(problem, 0)
    bound = rung.bind(problem, parameters, hopper)
    for images in (5, 1, 3):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, rung.precision)
        assert verdict.passed, verdict


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize(("channels", "mask"), [(64, 3), (256, 5), (72, 1), (256, 1)])
def test_split_products_have_float32s_error(kind, channels, mask, hopper):
    problem = Conv2d(1, channels, 20, 24, 64, (mask, mask), padding=(mask // 2, mask // 2))
    check_hard(IEEE, problem, kind, hopper, seed=mask)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("pool", ["max", "average"])
def test_small_numbers_keep_their_bits(kind, pool, hopper):
    check_small(IEEE, kind, pool, hopper)


@each_rung
@settings(max_examples=20)
@given(data=st.data())
def test_any_config_packs_all_weights_and_shares_out_all_results(rung, data):
    problem = data.draw(deep.filter(lambda problem: rung.why_not(problem) is None))
    config = draw_config(rung, problem, data.draw)
    check_packed_weights(rung, problem, config)
    check_tiles(rung, problem, config)


def check_packed_weights(rung, problem, config):
    """They are the weights with zeros between."""
    _, weights, _ = random_inputs(problem, 0)
    packed = rung.pack(problem, weights, config).ravel()
    macros = rung.macros(problem, config)
    taps, chunk = problem.mask[0] * problem.mask[1], 128 // macros["ELEMENT_BYTES"]
    chunks, count = -(-problem.channels // chunk), macros["WEIGHTS"]
    tiles = packed[:count].reshape(-1, chunks, taps, config["TILE_MAPS"], chunk)
    # Map (tile and place in it), channel (chunk and place in it), tap.
    whole = tiles.transpose(0, 3, 1, 4, 2).reshape(-1, chunks * chunk, taps)
    used = whole[: problem.maps, : problem.channels].reshape(weights.shape)
    assert np.array_equal(used, weights)
    assert np.count_nonzero(whole) == np.count_nonzero(used)
    assert np.array_equal(packed[count:], weights.ravel() if rung is IEEE else [])
    stages = rung.workspace(problem, config)["stages"]
    assert 4 * stages == macros["ELEMENT_BYTES"] * macros["NUMBERS"] * count


@each_rung
def test_other_gpus_are_refused(rung):
    with pytest.raises(UnsupportedProblem, match="sm_90 alone, not sm_80"):
        rung.compile(PROBLEMS[0], some_gpu("sm_80"))


@each_rung
def test_what_it_does_not_take(rung):
    for problem, reason in (
        (Conv2d(1, 64, 19, 19, 9, (3, 3), (2, 2)), "stride"),
        (Conv2d(1, 64, 19, 19, 9, (3, 3), pool=Pool.of("max", 3)), "2x2 or not"),
        (Conv2d(1, 64, 19, 19, 9, (3, 3), pool=Pool.of("max", 2, 1)), "2x2 or not"),
        (Conv2d(1, 64, 99, 99, 9, (60, 60)), "no room for the weights"),
    ):
        with pytest.raises(UnsupportedProblem, match=reason):
            rung.check(problem)
    assert "sums of 64" in IEEE.why_not(Conv2d(1, 7, 19, 19, 9, (3, 3)))
    pooled = replace(PROBLEMS[0], pool=Pool.of("max", 2))
    for problem, config, reason in (
        (PROBLEMS[0], {"PIXELS": 20}, "eights"),
        (PROBLEMS[0], {"PARTS": 8}, "8 parts of"),
        (PROBLEMS[0], {"PIXELS": 256, "STRIPS": 1, "PATCHES": 4, "TILE_MAPS": 64}, "sums|no room"),
        (pooled, {"STRIPS": 0, "PIXELS": 16}, "lie in a strip"),
        (pooled, {"STRIPS": 1, "PIXELS": 24}, "odd number of rows"),
        (replace(PROBLEMS[0], width=300), {"STRIPS": 0, "PIXELS": 16}, "a copy brings 256"),
    ):
        with pytest.raises(InputError, match=reason):
            rung.compile(problem, some_gpu("sm_90"), config)


def check_tiles(rung, problem, config):
    """Of each tile's pixels those that `results.h` stores: together every result, once."""
    layout, macros = rung._layout(problem, config), rung.macros(problem, config)
    rows, columns = problem.conv_span
    n = np.arange(config["PIXELS"])
    stored = np.zeros((rows, columns), int)
    for tile in range(layout.tiles_of_pixels):
        for group in range(layout.groups):
            if layout.strips:
                right = -(-columns // (8 * layout.groups))
                i = tile // right * (config["PIXELS"] // 8) + n // 8
                j = tile % right * 8 * layout.groups + 8 * group + n % 8
                first = 0
            else:
                first = tile * layout.groups * config["PIXELS"]
                at = first % macros["LINE"] + group * config["PIXELS"] + n
                i, j = first // macros["LINE"] + at // macros["LINE"], at % macros["LINE"]
                # What its last pixel reads lies in the patch.
                down, right = problem.mask
                assert (at[-1] + (down - 1) * macros["LINE"] + right - 1) // macros["LINE"] < (
                    macros["PATCH_ROWS"]
                )
            inside = (i < rows) & (j < columns)
            np.add.at(stored, (i[inside], j[inside]), 1)
    assert (stored == 1).all()


FORMS = [
    {"X_LAST": 1, "OUT_LAST": 1},
    {"X_NARROW": 1, "OUT_NARROW": 1},
    {"X_NARROW": 1, "X_LAST": 1, "OUT_NARROW": 1, "OUT_LAST": 1},
]


@each_rung
@pytest.mark.parametrize("forms", FORMS, ids=lambda forms: " ".join(forms))
@pytest.mark.parametrize("problem", PROBLEMS[1:3])
def test_arrays_as_callers_have_them(rung, problem, forms, hopper):
    if not rung.narrow and "X_NARROW" in forms:
        forms = {"OUT_LAST": 1}
    stored, _ = stored_by(rung, problem, forms)
    verdict = verify(stored, rung, device=hopper)
    assert verdict.passed, verdict


@each_rung
@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("pool", [None, Pool.of("max", 2)])
def test_blocks_share_a_tile(rung, parts, pool, hopper):
    problem = Conv2d(2, 200, 13, 14, 70, (3, 3), padding=(1, 1), activation="relu", pool=pool)
    config = {"PARTS": parts, "PIXELS": 64, "STRIPS": 1}
    check(rung, problem, hopper, config=config)


@pytest.mark.parametrize(("channels", "kernels"), [(36, 1), (33, 2)])
def test_channels_last_are_rounded_to_tf32_on_their_way(channels, kernels):
    rung, problem = strategy("conv2d", "implicit_gemm_tf32", "cuda"), PROBLEMS[1]
    problem = replace(problem, channels=channels)
    problem, _ = stored_by(rung, problem, {"X_LAST": 1, "OUT_LAST": 1})
    config = rung.config(problem)
    *packing, product = rung.steps(problem, config)
    assert len(packing) + 1 == kernels
    assert ("packed" in rung.workspace(problem, config)) == bool(packing)
    patches = product.arguments[0]
    assert (patches.array, patches.rounded) == (("packed", False) if packing else ("x", True))
