"""Every GPU rung of `conv2d_input_gradient`."""

from __future__ import annotations

import dataclasses

import pytest
from every_rung import Wrong
from gradient_rungs import EveryGpuRung

from rooftile.ops import Pool
from rooftile.ops.conv2d_input_gradient import NAMED, Conv2dInputGradient
from rooftile.runtime.choice import choose
from rooftile.strategies import strategy

FOURS = Conv2dInputGradient(
    3, 6, 17, 15, 5, (3, 4), padding=(1, 2), pool=Pool.of("max", 4), before="relu"
)
PLACED = Conv2dInputGradient(4, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), Pool.of("max", 2))


class TestRungs(EveryGpuRung):
    # Gradients of all outputs and of winners; more channels than a thread takes; windows that
    # overlap; more maps than shared memory holds.
    # One of them multiplies by the derivative of an activation.
    problems = (
        Conv2dInputGradient(2, 6, 8, 30, 2, (2, 19), (1, 1), (1, 2), before="sigmoid"),
        Conv2dInputGradient(2, 1, 60, 63, 9, (3, 4), pool=Pool.of("max", 3, 2)),
        PLACED,
        FOURS,
    )
    near = (PLACED, FOURS)
    compiled = (Conv2dInputGradient(64, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4)), PLACED)
    wrong = Wrong(
        PLACED,
        ("naive", "q >= 0 && q < MASK_WIDTH", "q > 0 && q < MASK_WIDTH"),
        ("gathered", "sum[1] += gradient * tap.y", "sum[1] += gradient * tap.x"),
    )


def test_many_images_are_the_tensor_cores_at_their_precisions():
    build, _ = NAMED["lenet-conv2"]
    found = {
        (precision, batch): choose(build(batch), precision, "cuda").name
        for precision in ("ieee", "tf32", "bf16", "fp16")
        for batch in (64, 1024)
    }
    assert {name for (precision, _), name in found.items() if precision == "ieee"} == {"gathered"}
    for precision in ("tf32", "bf16", "fp16"):
        assert found[precision, 64] == ("gathered" if precision == "tf32" else f"mma_{precision}")
        assert found[precision, 1024] == f"mma_{precision}"


@pytest.mark.parametrize(("batch", "block"), [(1, 64), (8, 128), (64, 800), (8192, 800)])
def test_few_blocks_share_the_pixels_of_an_image_evenly(batch, block):
    problem = NAMED["lenet-conv2"][0](batch)
    assert strategy("conv2d_input_gradient", "gathered", "cuda").defaults(problem)["BLOCK"] == block


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "4 x 4"),
        ({"pool": Pool.of("max", 4, 2)}, "do not overlap"),
        ({"stride": (1, 2)}, "apart"),
        ({"mask": (3, 9)}, "9 columns"),
        ({"before": "tanh"}, "no slope"),
        ({"width": 50}, "windows beside each other"),
        ({"maps": 400}, "shared memory"),
    ],
)
def test_tensor_cores_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"][0](4), **change)
    assert why in strategy("conv2d_input_gradient", "mma_tf32", "cuda").why_not(problem)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "do not overlap"),
        ({"pool": Pool.of("max", 4, 2)}, "do not overlap"),
        ({"stride": (1, 2)}, "apart"),
        ({"mask": (17, 3)}, "17 rows"),
        ({"before": "tanh"}, "no slope"),
        ({"maps": 100}, "shared memory"),
        ({"pool": Pool.of("max", 1), "height": 30, "width": 30}, "gradients of a thread"),
    ],
)
def test_16_bits_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"][0](4), **change)
    assert why in strategy("conv2d_input_gradient", "mma_bf16", "cuda").why_not(problem)


@pytest.mark.parametrize(
    ("size", "expected"),
    [((40, 40), (10, 5)), ((28, 28), (8, 4)), ((80, 80), (10, 10)), ((16, 20), (8, 2))],
)
def test_tiles_are_shared_out_evenly(size, expected):
    problem = dataclasses.replace(NAMED["lenet-conv2"][0](4), height=size[0], width=size[1])
    config = strategy("conv2d_input_gradient", "mma_bf16", "cuda").defaults(problem)
    assert (config["WARPS"], config["BAND"]) == expected
