"""Every GPU rung of `conv2d_input_gradient`."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from rooftile.ops import Pool
from rooftile.ops.gradients.conv2d_input_gradient import NAMED, Conv2dInputGradient
from rooftile.runtime.selection import choice
from rooftile.runtime.selection.choice import choose
from rooftile.strategies import strategy
from tests.support.every_rung import Wrong
from tests.support.gradient_rungs import EveryGpuRung
from tests.support.winner_positions import right_with_cuts, without_cuts

FOURS = Conv2dInputGradient(
    3, 6, 17, 15, 5, (3, 4), padding=(1, 2), pool=Pool.of("max", 4), before="relu"
)
# Eight windows a row, and more maps than a group of them, for warpgroups.
WHOLE = Conv2dInputGradient(5, 5, 24, 16, 19, (4, 3), padding=(0, 1), pool=Pool.of("max", (3, 2)))
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
        WHOLE,
    )
    near = (PLACED, FOURS)
    compiled = (Conv2dInputGradient(64, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4)), PLACED)
    wrong = Wrong(
        PLACED,
        ("naive", "q >= 0 && q < MASK_WIDTH", "q > 0 && q < MASK_WIDTH"),
        ("gathered", "sum[1] += gradient * tap.y", "sum[1] += gradient * tap.x"),
    )


@pytest.mark.parametrize("name", ["naive", "gathered"])
def test_gradients_of_windows_that_relu_cut_are_zero(name, opencl_device):
    rung = strategy("conv2d_input_gradient", name, "cuda")
    for problem in (PLACED, FOURS):
        assert right_with_cuts(problem, rung, opencl_device)
    assert not right_with_cuts(PLACED, without_cuts(rung), opencl_device)


EXACT = ("gathered", "swept")


def test_many_images_are_the_tensor_cores_where_a_precision_admits_them():
    build, _ = NAMED["lenet-conv2"]
    for batch in (1, 64, 8192):
        assert choose(build(batch), "ieee", "cuda").name in EXACT
    for precision in ("tf32", "bf16", "fp16"):
        assert choose(build(1), precision, "cuda").name in EXACT
    for precision in ("bf16", "fp16"):
        assert choose(build(1024), precision, "cuda").name == f"mma_{precision}"
    wide = dataclasses.replace(build(8192), mask=(7, 8))
    assert choose(wide, "tf32", "cuda").name == "mma_tf32"
    assert choose(wide, "ieee", "cuda").name == "gathered"


@pytest.mark.parametrize(("architecture", "many"), [("sm_90", "warpgroups"), ("sm_80", "mma")])
def test_warpgroups_take_many_images_whose_x_nobody_reads(monkeypatch, architecture, many):
    gpu = SimpleNamespace(description=SimpleNamespace(architecture=architecture))
    monkeypatch.setattr(choice, "lent_gpu", lambda device: gpu)
    build, _ = NAMED["lenet-conv2"]
    for precision in ("bf16", "fp16"):
        assert choose(build(8192), precision, "cuda").name == f"{many}_{precision}"
        behind = dataclasses.replace(build(8192), before="relu")
        assert choose(behind, precision, "cuda").name == f"mma_{precision}"
    exact = ("warpgroups_ieee",) if many == "warpgroups" else EXACT
    assert choose(build(8192), "ieee", "cuda").name in exact
    assert choose(build(1), "ieee", "cuda").name in EXACT


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "do not overlap"),
        ({"pool": Pool.of("max", 4, 2)}, "do not overlap"),
        ({"pool": Pool.of("max", 3)}, "2 or 4 columns"),
        ({"pool": Pool.of("max", (5, 4))}, "16 positions"),
        ({"stride": (1, 2)}, "stride"),
        ({"before": "relu"}, "before"),
        ({"width": 46}, "8 by 8"),
        ({"mask": (10, 7), "height": 41}, "the next warp"),
        ({"mask": (7, 9)}, "240 sums"),
        ({"height": 41, "width": 41}, "no whole lines"),
        ({"maps": 48}, "shared memory"),
    ],
)
def test_warpgroups_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"][0](4), **change)
    assert why in strategy("conv2d_input_gradient", "warpgroups_tf32", "cuda").why_not(problem)


def test_split_numbers_want_room_in_the_budget():
    rung, problem = (
        strategy("conv2d_input_gradient", "warpgroups_ieee", "cuda"),
        NAMED["lenet-conv2"][0](4),
    )
    assert rung.why_not(problem) is None
    assert "64 products" in rung.why_not(dataclasses.replace(problem, maps=1))


@pytest.mark.parametrize(("batch", "block"), [(1, 64), (8, 128), (64, 800), (8192, 800)])
def test_few_blocks_share_the_pixels_of_an_image_evenly(batch, block):
    problem = NAMED["lenet-conv2"][0](batch)
    assert strategy("conv2d_input_gradient", "gathered", "cuda").defaults(problem)["BLOCK"] == block


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "4 x 4"),
        ({"pool": Pool.of("max", 4, 2)}, "do not overlap"),
        ({"stride": (1, 2)}, "stride"),
        ({"mask": (3, 9)}, "9 columns"),
        ({"before": "tanh"}, "before"),
        ({"width": 50}, "adjacent windows"),
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
        ({"stride": (1, 2)}, "stride"),
        ({"mask": (17, 3)}, "17 rows"),
        ({"before": "tanh"}, "before"),
        ({"maps": 100}, "shared memory"),
        ({"pool": Pool.of("max", 1), "height": 30, "width": 30}, "gradients of a thread"),
    ],
)
def test_16_bits_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"][0](4), **change)
    assert why in strategy("conv2d_input_gradient", "mma_bf16", "cuda").why_not(problem)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "do not overlap"),
        ({"pool": Pool.of("max", 4, 2)}, "do not overlap"),
        ({"pool": Pool.of("max", 3)}, "no whole steps"),
        ({"stride": (1, 2)}, "stride"),
        ({"mask": (3, 8)}, "8 columns"),
        ({"mask": (23, 3)}, "26 rows"),
        ({"maps": 200}, "maps of a warp"),
        ({"pool": Pool.of("max", 2), "height": 400}, "threads a block"),
        ({"width": 300}, "shared memory"),
    ],
)
def test_a_sweep_says_what_it_refuses(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"][0](4), **change)
    assert why in strategy("conv2d_input_gradient", "swept", "cuda").why_not(problem)


@pytest.mark.parametrize(
    ("batch", "shared_out", "across"), [(64, (2, 4), 128), (128, (1, 2), 128), (8192, (1, 1), 4096)]
)
def test_few_images_are_swept_by_more_warps(batch, shared_out, across):
    rung, problem = (
        strategy("conv2d_input_gradient", "swept", "cuda"),
        NAMED["lenet-conv2"][0](batch),
    )
    config = rung.defaults(problem)
    assert (config["BANDS"], config["GROUPS"]) == shared_out
    assert rung.steps(problem, config)[0].launch.grid[0] == across


@pytest.mark.parametrize(
    ("size", "expected"),
    [((40, 40), (10, 5)), ((28, 28), (8, 4)), ((80, 80), (10, 10)), ((16, 20), (8, 2))],
)
def test_tiles_are_shared_out_evenly(size, expected):
    problem = dataclasses.replace(NAMED["lenet-conv2"][0](4), height=size[0], width=size[1])
    config = strategy("conv2d_input_gradient", "mma_bf16", "cuda").defaults(problem)
    assert (config["WARPS"], config["BAND"]) == expected
