"""A convolution and the linear layer behind it in one kernel, whose text OpenCL takes too."""

from copy import copy

import numpy as np
import pytest
from compiling import check_compiles
from hypothesis import given, settings
from hypothesis import strategies as st
from ladder_checks import check, draw_config, examples, inputs, run

from rooftile import nn
from rooftile.errors import UnsupportedProblem
from rooftile.ops import Chain, Conv2d, Linear, Pool
from rooftile.runtime.choice import choose_together
from rooftile.strategies import strategy

RUNG = strategy("network", "image_rows", "cuda")


def chain(*layers):
    return Chain(tuple((f"layer{n}", layer) for n, layer in enumerate(layers)))


def mnist8(batch):
    return Chain(tuple(nn.architecture("mnist8").problems(batch)[:2]))


def pair(batch, channels, size, maps, mask, padding, outputs, activation="relu"):
    conv = Conv2d(batch, channels, *size, maps, mask, padding=padding, activation=activation)
    inputs = int(np.prod(conv.output_shape[1:]))
    return chain(conv, Linear(batch, inputs, outputs, activation))


PROBLEMS = (
    mnist8(1),
    mnist8(3),
    # Threads, pieces and outputs left over; channels; masks as wide as the quads' pieces and not.
    pair(2, 3, (9, 14), 5, (2, 3), (0, 0), 37, "tanh"),
    pair(1, 2, (7, 12), 3, (4, 7), (3, 3), 5, "none"),
    pair(3, 1, (4, 4), 1, (1, 1), (0, 0), 1, "sigmoid"),
    pair(1, 1, (6, 9), 8, (3, 2), (1, 0), 130, "relu"),
)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("specials", [(), (0,), (1, 2), (3, 4)])
def test_right_within_the_budget(problem, specials, device):
    check(RUNG, problem, device, seed=1, specials=specials)


@settings(examples, max_examples=10)
@given(data=st.data())
def test_any_two_layers_with_any_config(device, data):
    mask = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 9))
    padding = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    columns = 4 * data.draw(st.integers(1, 4))
    size = data.draw(st.integers(5, 9)), columns + mask[1] - 1 - 2 * padding[1]
    if size[1] < 1:
        return
    problem = pair(
        data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2)), size,
        data.draw(st.integers(1, 8)), mask, padding, data.draw(st.integers(1, 20)),
    )  # fmt: skip
    check(RUNG, problem, device, config=draw_config(RUNG, problem, data.draw))


def test_the_last_batch_may_be_partial(device):
    problem = mnist8(4)
    x, *parameters = inputs(problem, 2)
    bound = RUNG.bind(problem, parameters, device)
    whole = run(bound, x)
    for images in (1, 3):
        np.testing.assert_array_equal(run(bound, x[:images]), whole[:images])


LAST_PIECES = "h < HELD; h++) {\n        int at = thread + h * THREADS;"


def check_wrong(rung, device):
    """As `check`, of a rung that one of these problems ought to give away."""
    for problem in PROBLEMS[:2]:
        for specials in ((), (3,)):
            check(rung, problem, device, specials=specials)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # Ghost cells, the last tap, a map's bias, a quad.
        ("i >= 0 && i < HEIGHT", "i < HEIGHT"),
        ("v < MASK_WIDTH; v++", "v < MASK_WIDTH - 1; v++"),
        ("float shift = bias[map + m]", "float shift = bias[m]"),
        ("* OUT_HEIGHT * QUADS; e +=", "* OUT_HEIGHT * QUADS - 1; e +="),
        # The last pieces of a row, another row's, the last threads' sums, the bias.
        (LAST_PIECES, LAST_PIECES.replace("HELD;", "HELD - 1;")),
        ("(size_t)o * INPUTS", "(size_t)first * INPUTS"),
        ("reach = REACH", "reach = REACH / 2"),
        ("+ last)", ")"),
    ],
)
def test_wrong_texts_are_caught(right, wrong, opencl_device):
    text, rung = RUNG.whole_text, copy(RUNG)
    assert right in text
    rung.__dict__["text"] = text.replace(right, wrong)
    with pytest.raises(AssertionError):
        check_wrong(rung, opencl_device)


def test_compiles_without_spills():
    check_compiles(RUNG, PROBLEMS)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (chain(mnist8(1).problems[0]), "a convolution and a linear layer"),
        (chain(Conv2d(1, 1, 8, 8, 4, (1, 1)), Linear(1, 256, 3, "relu")), "same activation"),
        (chain(Conv2d(1, 1, 8, 8, 4, (1, 1), pool=Pool.of("max", 2)), Linear(1, 64, 3)), "no pool"),
        (chain(Conv2d(1, 1, 8, 8, 4, (1, 1), (2, 2)), Linear(1, 64, 3)), "no stride"),
        (pair(1, 1, (8, 8), 9, (1, 1), (0, 0), 3), "9 maps"),
        (pair(1, 1, (8, 9), 2, (1, 1), (0, 0), 3), "four neighbours"),
        (pair(1, 1, (64, 64), 8, (1, 1), (0, 0), 3), "bytes of shared memory|pieces of weights"),
    ],
)
def test_what_it_does_not_take(problem, reason):
    with pytest.raises(UnsupportedProblem, match=reason):
        RUNG.check(problem)


def test_one_image_takes_it_where_its_weights_are_many():
    assert RUNG.why_slow(mnist8(1)) is None
    assert "one image" in RUNG.why_slow(mnist8(2))
    assert "weights" in RUNG.why_slow(pair(1, 1, (28, 28), 8, (5, 5), (2, 2), 100))
    assert "FLOPs" in RUNG.why_slow(pair(1, 4, (28, 28), 8, (5, 5), (2, 2), 512))


def test_a_plan_of_one_image_takes_it_and_classifies_alike(cuda_device):
    assert choose_together(mnist8(1), "ieee", "cuda").name == "image_rows"
    network = nn.load("mnist8")
    images = np.random.default_rng(0).standard_normal((5, 1, 28, 28), np.float32)
    one, several = (network.plan(batch=batch, device="cuda") for batch in (1, 5))
    assert one.strategies["conv1+linear1"] == "image_rows"
    assert "image_rows" not in several.strategies.values()
    np.testing.assert_allclose(one(images), several(images), rtol=1e-4, atol=1e-4)
