"""Two blocks in one kernel: the same bits as one after the other; CUDA only."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile import nn
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.measure.networks.layers import profile
from rooftile.ops import Chain, Conv2d, Linear, Pool
from rooftile.runtime.selection.choice import decide_together
from rooftile.strategies import ladder, strategy
from rooftile.strategies.network.gpu.front.front import LEAST_IMAGES
from tests.support.compiling import MEASURED, check_no_spills
from tests.support.ladder_checks import draw_config, examples, inputs, run
from tests.support.storage import stored_by

RUNGS = ladder("network", "cuda")
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)


def chain(*layers):
    return Chain(tuple((f"layer{n}", layer) for n, layer in enumerate(layers)))


def lenet(batch):
    return Chain(tuple(nn.architecture("lenet5").problems(batch)[:2]))


def pair(batch, channels, height, width, first, second, activation="relu"):
    """Two blocks, each (maps, mask, window)."""
    (maps, mask, window), (more, mask_2, window_2) = first, second
    one = Conv2d(batch, channels, height, width, maps, mask, activation=activation,
                 pool=Pool.of("max", window))  # fmt: skip
    two = Conv2d(batch, maps, *one.output_size, more, mask_2, activation=activation,
                 pool=Pool.of("max", window_2))  # fmt: skip
    return chain(one, two)


PROBLEMS = (
    lenet(3),
    # More images than multiprocessors.
    lenet(300),
    # The original's maps; other windows; maps, rows and columns left over; channels.
    pair(2, 1, 28, 28, (5, (5, 5), (2, 2)), (16, (5, 5), (2, 2)), "none"),
    pair(5, 2, 20, 28, (5, (3, 5), (2, 2)), (3, (3, 3), (2, 2)), "tanh"),
    pair(140, 3, 32, 34, (2, (3, 3), (2, 4)), (16, (2, 2), (2, 2)), "sigmoid"),
    pair(2, 1, 34, 26, (1, (1, 7), (4, 2)), (9, (7, 1), (2, 8)), "relu"),
    pair(3, 3, 20, 26, (13, (3, 3), (2, 2)), (1, (1, 3), (2, 2)), "relu"),
)


def one_after_the_other(rung, problem, arrays, device, narrow):
    """By the strategies of a single block whose products are the same instructions."""
    out, *parameters = arrays
    for number, (_, layer) in enumerate(problem.layers):
        kind = ("pool_folded", "pool_folded_wgmma")[number]
        fold = strategy("conv2d", f"{kind}_{rung.narrow}", "cuda")
        config = {"X_NARROW": number, "OUT_NARROW": 1 if number == 0 else narrow}
        own, parameters = parameters[:2], parameters[2:]
        bound = fold.bind(stored_by(fold, layer, config)[0], own, device)
        out = run(bound, out)
    return out


def check_equal(rung, problem, device, *, seed=0, specials=(), config=None):
    arrays = inputs(problem, seed, specials=specials)
    narrow = (config or {}).get("OUT_NARROW", 0)
    stored, tunables = stored_by(rung, problem, config)
    bound = rung.bind(stored, arrays[1:], device, tunables)
    expected = one_after_the_other(rung, problem, arrays, device, narrow)
    results = []
    for _ in range(2):
        results.append(np.full(problem.output_shape, -77.0, np.float32))
        bound(arrays[0], results[-1])
    np.testing.assert_array_equal(*results)
    if not specials:
        np.testing.assert_array_equal(results[0], expected)
        return
    # Which zeros of a mask meet an infinity beyond a patch depends on where images lie, and a
    # result that is computed again has other last bits.
    unit = {"fp16": 2.0**-10, "bf16": 2.0**-7}[rung.narrow]
    size = np.abs(np.where(np.isfinite(expected), expected, 0)).max(initial=1)
    np.testing.assert_allclose(results[0], expected, rtol=unit, atol=unit * size)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_problems_are_taken(problem):
    for rung in RUNGS:
        assert rung.why_not(problem) is None
        for kind, layer in zip(("pool_folded", "pool_folded_wgmma"), problem.problems, strict=True):
            assert strategy("conv2d", f"{kind}_{rung.narrow}", "cuda").why_not(layer) is None


@each_rung
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("specials", [(), (0,), (1, 2), (3, 4)])
def test_the_same_bits_as_one_after_the_other(rung, problem, specials, hopper):
    check_equal(rung, problem, hopper, seed=1, specials=specials)


@each_rung
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_two_blocks_with_any_config(rung, hopper, data):
    sizes, windows = st.integers(1, 7), st.tuples(st.sampled_from([2, 4]), st.sampled_from([2, 4]))
    blocks = [
        (data.draw(st.integers(1, 16)), (data.draw(sizes), data.draw(sizes)), data.draw(windows))
        for _ in range(2)
    ]
    try:
        problem = pair(
            data.draw(st.sampled_from([1, 7, 200])), data.draw(st.integers(1, 3)),
            data.draw(st.integers(8, 50)), data.draw(st.integers(8, 50)), *blocks,
        )  # fmt: skip
    except InputError:
        return
    kinds = ("pool_folded", "pool_folded_wgmma")
    folds = [strategy("conv2d", f"{kind}_{rung.narrow}", "cuda") for kind in kinds]
    apart = zip(folds, problem.problems, strict=True)
    if rung.why_not(problem) is None and not any(fold.why_not(p) for fold, p in apart):
        config = draw_config(rung, problem, data.draw)
        check_equal(rung, problem, hopper, config=config)


@each_rung
def test_the_last_batch_may_be_partial(rung, hopper):
    problem = lenet(200)
    x, *parameters = inputs(problem, 3)
    bound = rung.bind(problem, parameters, hopper)
    whole = run(bound, x)
    for images in (1, 150):
        np.testing.assert_array_equal(run(bound, x[:images]), whole[:images])


@each_rung
def test_images_of_16_bits_make_the_bits_of_wide_ones(rung, hopper):
    problem = lenet(200)
    x, *parameters = inputs(problem, 3)
    for narrow in (0, 1):
        results = [np.full(problem.output_shape, np.nan, np.float32) for _ in range(2)]
        for own, result in enumerate(results):
            stored, _ = stored_by(rung, problem, {"X_NARROW": own, "OUT_NARROW": narrow})
            rung.bind(stored, parameters, hopper)(x, result)
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("name", "problems"), [("front_fp16", PROBLEMS), ("front_bf16", PROBLEMS[:1])]
)
def test_compiles_without_spills(name, problems):
    """Both precisions have one text, whose registers depend on the shapes."""
    rung = strategy("network", name, "cuda")
    for problem in problems:
        check_no_spills(rung, problem, MEASURED)
    check_no_spills(rung, lenet(3), MEASURED, {"X_NARROW": 1, "OUT_NARROW": 1})


@each_rung
def test_what_it_does_not_take(rung):
    pool = Pool.of("max", 2)
    first = lenet(1).problems[0]
    for problem, reason in (
        (chain(first), "two convolutions"),
        (chain(Conv2d(1, 1, 9, 9, 4, (3, 3)), Linear(1, 196, 3)), "two convolutions"),
        (chain(first, Conv2d(1, 4, 40, 40, 16, (7, 7), pool=pool)), "same activation"),
        (chain(first, Conv2d(1, 4, 40, 40, 4, (7, 7), activation="relu")), "windows tile"),
        (chain(first, Conv2d(1, 4, 40, 40, 17, (7, 7), activation="relu", pool=pool)), "17 maps"),
        (chain(first, Conv2d(1, 4, 40, 40, 4, (7, 7), padding=(1, 1), activation="relu",
                             pool=pool)), "padding"),
        (chain(Conv2d(1, 4, 200, 200, 4, (7, 7), pool=pool),
               Conv2d(1, 4, 97, 97, 4, (2, 2), pool=pool)), "read in pairs"),
        (chain(Conv2d(1, 4, 198, 198, 4, (7, 7), pool=pool),
               Conv2d(1, 4, 96, 96, 4, (2, 2), pool=pool)), "pieces of an image"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedProblem, match=reason):
            rung.check(problem)


def test_many_images_take_it_where_the_gpu_can(hopper):
    assert decide_together(lenet(LEAST_IMAGES), "fp16", "cuda").strategy.name == "front_fp16"
    assert decide_together(lenet(LEAST_IMAGES - 1), "fp16", "cuda") is None
    assert decide_together(lenet(LEAST_IMAGES), "ieee", "cuda") is None


def test_a_plan_says_that_it_takes_it_and_classifies_alike(hopper):
    network = nn.load("lenet5")
    images = np.random.default_rng(0).standard_normal((300, 1, 86, 86), np.float32)
    many = network.plan(batch=LEAST_IMAGES, precision="fp16", device="cuda")
    few = network.plan(batch=LEAST_IMAGES - 1, precision="fp16", device="cuda")
    assert list(many.strategies) == ["conv1+conv2", "linear1", "linear2"]
    assert many.strategies["conv1+conv2"] == "front_fp16"
    assert list(profile(many, images)) == list(many.strategies)
    assert "front_fp16" not in few.strategies.values()
    np.testing.assert_allclose(many(images), few(images), rtol=2e-2, atol=2e-2)
