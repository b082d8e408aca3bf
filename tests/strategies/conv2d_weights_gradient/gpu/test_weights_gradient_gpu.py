"""Every GPU rung of `conv2d_weights_gradient`."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.lab.judge.verify import verify
from rooftile.ops import FORMATS, Pool
from rooftile.ops.gradients.conv2d_weights_gradient import NAMED, Conv2dWeightsGradient
from rooftile.runtime.selection import choice
from rooftile.runtime.selection.choice import choose
from rooftile.strategies import strategy
from rooftile.strategies.contract.machine import preset
from tests.support.every_rung import Wrong, changed
from tests.support.gradient_rungs import EveryGpuRung
from tests.support.storage import stored_by
from tests.support.winner_positions import right_with_cuts, without_cuts

POOL = Pool.of("max", 2)
SQUARES = Conv2dWeightsGradient(
    4, 5, 17, 22, 9, (5, 4), padding=(1, 2), pool=Pool.of("max", (4, 2))
)
# A second strip of two windows, and zeros around the image: for pixels as rows.
FEW = Conv2dWeightsGradient(5, 1, 15, 22, 3, (7, 7), padding=(2, 2), pool=Pool.of("max", 2))
ACTIVATED = Conv2dWeightsGradient(3, 2, 9, 10, 3, (3, 4), padding=(2, 1), activation="tanh")
PLACED = Conv2dWeightsGradient(10, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), POOL)


class TestRungs(EveryGpuRung):
    # Gradients of all outputs and of winners, of windows of two cells; more channels than a tile
    # holds; overlap.
    problems = (
        Conv2dWeightsGradient(2, 1, 30, 63, 2, (3, 4), pool=Pool.of("max", 3, 2)),
        Conv2dWeightsGradient(2, 5, 9, 10, 9, (7, 7)),
        PLACED,
        SQUARES,
        FEW,
        Conv2dWeightsGradient(9, 5, 17, 19, 5, (7, 4), (1, 1), (2, 1), Pool.of("max", (3, 4))),
    )
    near = (Conv2dWeightsGradient(3, 2, 14, 17, 3, (3, 4), padding=(2, 1), pool=POOL), ACTIVATED)
    compiled = (*NAMED.values(), dataclasses.replace(NAMED["mnist-conv"], activation="relu"))
    wrong = Wrong(
        near[0],
        ("naive", "(n * MAPS + map) * GRADIENTS + e;", "(n * MAPS + map) * GRADIENTS;"),
        ("block_tree", "reach > 0; reach /= 2", "reach > 1; reach /= 2"),
        ("lane_taps", "UNROLL_BY(8) for (int row = threadIdx.y", "for (int row = 1 + threadIdx.y"),
        ("windows", "odd ? row[q + 1] : row[q]", "row[q]"),
        ("lane_rows", "bias[m] += gradient;", "bias[m] -= gradient;"),
        ("lane_rows", "channel * PLANE + p * PITCH", "channel * PLANE"),
        ("lane_taps", "+ j] : 0.0f;", "+ j] : 1.0f;"),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("window[(r + p) % MASK_HEIGHT]", "window[p]"),
        ("BEFORE_ACTIVATION(WIDE_GRADIENT(next[r][m]), WIDE_VALUE(value[r][m]))", "next[r][m]"),
        ("begin + PART_ROWS < ROWS", "begin + PART_ROWS > ROWS"),
    ],
)
def test_wrong_walks_down_columns_are_caught(before, after, opencl_device):
    wrong = changed("conv2d_weights_gradient", "lane_columns", before, after)
    assert not verify(ACTIVATED, wrong, device=opencl_device).passed


@pytest.mark.parametrize("activation", ["none", "relu"])
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_columns_of_gradients_and_values_in_16_bits(precision, activation, opencl_device):
    """The bits that the same sums of these numbers have in float32; nothing else is rounded."""
    plain, made = dataclasses.replace(ACTIVATED, activation=activation), []
    rungs = [
        strategy("conv2d_weights_gradient", name, "cuda")
        for name in (f"lane_columns_{precision}", "lane_columns")
    ]
    flags = {"DY_NARROW": 1, "Y_NARROW": 1}
    stored, _ = stored_by(rungs[0], plain, flags)
    narrow = {array.name for array in stored.arrays if array.dtype == FORMATS[precision].dtype}
    assert narrow == {array.name for array in plain.input_arrays} - {"x"}
    given = [values.astype(np.float32) for values in stored.random(3)]
    for one, problem in zip(rungs, (stored, plain), strict=True):
        outputs = [np.full(array.shape, np.nan, np.float32) for array in problem.output_arrays]
        one.bind(problem, (), opencl_device)(*given, *outputs)
        made.append(outputs)
    for found, right in zip(*made, strict=True):
        np.testing.assert_array_equal(found, right)


def test_the_same_bits_in_every_run_and_few_partial_sums(opencl_device):
    rung, problem = strategy("conv2d_weights_gradient", "lane_taps", "cuda"), PLACED
    bound, given, made = rung.bind(problem, (), opencl_device), problem.random(3), []
    for _ in range(2):
        outputs = [np.empty(a.shape, np.float32) for a in problem.output_arrays]
        bound(*given, *outputs)
        made.append(outputs)
    for one, other in zip(*made, strict=True):
        np.testing.assert_array_equal(one, other)
    many = dataclasses.replace(problem, images=100_000)
    assert rung.workspace(many, rung.config(many))["partial"] < 10**6


@pytest.mark.parametrize("name", ["naive", "block_tree", "lane_taps", "windows", "lane_rows"])
def test_gradients_of_windows_that_relu_cut_are_zero(name, opencl_device):
    problem = dataclasses.replace(PLACED, stride=(1, 1))
    rung = strategy("conv2d_weights_gradient", name, "cuda")
    assert right_with_cuts(problem, rung, opencl_device)
    assert not right_with_cuts(problem, without_cuts(rung), opencl_device)


def test_images_are_halved_where_they_do_not_fill_the_gpu():
    rung, problem = strategy("conv2d_weights_gradient", "windows", "cuda"), NAMED["lenet-conv1"]
    assert rung.defaults(dataclasses.replace(problem, images=64)) == {"TEAMS": 2, "PARTS": 2}
    assert rung.defaults(dataclasses.replace(problem, images=8192)) == {"TEAMS": 4, "PARTS": 1}


@pytest.mark.parametrize(
    ("images", "warps", "splits"), [(64, 8, 4), (128, 16, 1), (256, 8, 1), (8192, 4, 1)]
)
def test_few_images_have_more_warps_and_blocks(images, warps, splits):
    problem = dataclasses.replace(NAMED["lenet-conv2"], images=images)
    rung = strategy("conv2d_weights_gradient", "lane_rows", "cuda")
    assert rung.defaults(problem) == {"WARPS": warps, "SPLITS": splits}


def test_every_lane_may_have_a_row(opencl_device):
    problem = Conv2dWeightsGradient(3, 5, 20, 18, 3, (8, 3), padding=(0, 1), pool=POOL)
    rung = strategy("conv2d_weights_gradient", "lane_rows", "cuda")
    assert rung.macros(problem, rung.config(problem))["GROUP_CHANNELS"] == 4
    verify(problem, rung, device=opencl_device, hard=True, neighbours=False).raise_if_wrong()


def test_gradients_of_all_outputs_are_walked_down():
    for images in (64, 8192):
        problem = dataclasses.replace(NAMED["mnist-conv"], images=images)
        assert choose(problem, "ieee", "cuda").name == "lane_columns"


def test_many_images_are_the_tensor_cores_at_their_precisions():
    for name in ("lenet-conv1", "lenet-conv2"):
        few, many = (dataclasses.replace(NAMED[name], images=images) for images in (1, 8192))
        assert choose(many, "ieee", "cuda").name in ("queued", "lane_rows", "windows")
        for precision in ("tf32", "bf16", "fp16"):
            assert choose(few, precision, "cuda").precision == "ieee"
            chosen = choose(many, precision, "cuda").name
            assert chosen in (f"turned_{precision}", f"mma_{precision}")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "behind a max-pool"),
        ({"stride": (1, 2)}, "stride"),
        ({"mask": (33, 2)}, "33 rows"),
        ({"maps": 512}, "sums of a thread"),
        ({"height": 300, "width": 300}, "shared memory"),
    ],
)
def test_queues_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"], **change)
    assert why in strategy("conv2d_weights_gradient", "queued", "cuda").why_not(problem)


@pytest.mark.parametrize(
    ("name", "images", "expected"),
    [
        ("lenet-conv1", 64, {"TEAMS": 2, "PARTS": 8, "SPLITS": 2}),
        ("lenet-conv1", 8192, {"TEAMS": 4, "PARTS": 2, "SPLITS": 1}),
        ("lenet-conv2", 64, {"TEAMS": 8, "PARTS": 1, "SPLITS": 2}),
        ("lenet-conv2", 8192, {"TEAMS": 8, "PARTS": 1, "SPLITS": 1}),
    ],
)
def test_few_images_have_more_warps_that_queue(name, images, expected):
    problem = dataclasses.replace(NAMED[name], images=images)
    assert strategy("conv2d_weights_gradient", "queued", "cuda").defaults(problem) == expected


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "do not overlap"),
        ({"pool": Pool.of("max", 4, 2)}, "do not overlap"),
        ({"pool": Pool.of("max", 3)}, "no whole cells"),
        ({"pool": Pool.of("max", (4, 6))}, "24 positions"),
        ({"stride": (1, 2)}, "stride"),
        ({"mask": (20, 20)}, "sums of a thread"),
        ({"height": 400, "width": 400}, "shared memory"),
    ],
)
def test_tensor_cores_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"], **change)
    assert why in strategy("conv2d_weights_gradient", "mma_bf16", "cuda").why_not(problem)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "do not overlap"),
        ({"pool": Pool.of("max", 2, 1)}, "do not overlap"),
        ({"pool": Pool.of("max", (3, 2))}, "odd side"),
        ({"pool": Pool.of("max", (6, 4))}, "24 positions"),
        ({"stride": (2, 1)}, "stride"),
        ({"mask": (7, 8)}, "9 columns"),
        ({"mask": (80, 7)}, "registers of a thread"),
        ({"width": 88}, "no whole pairs"),
        ({"width": 602}, "warps"),
        ({"height": 402, "width": 102}, "shared memory"),
    ],
)
def test_pixels_as_rows_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv1"], **change)
    assert why in strategy("conv2d_weights_gradient", "turned_bf16", "cuda").why_not(problem)


def test_arrays_of_fewer_bits_leave_room_for_more_blocks():
    rung, problem = strategy("conv2d_weights_gradient", "turned_bf16", "cuda"), NAMED["lenet-conv1"]
    narrow = {"X_NARROW": 1, "DY_NARROW": 1, "WHERE_NARROW": 1}
    assert rung.config(problem) == rung.config(problem, {"BLOCKS": 1, "SEGMENTS": 2})
    for blocks, stages, given in (
        (4, 1, {}),
        (3, 2, {"STAGES": 2}),
        (2, 2, {"BLOCKS": 2}),
        (2, 2, {"SEGMENTS": 2}),
    ):
        config = rung.config(stored_by(rung, problem, narrow)[0], given)
        assert (config["BLOCKS"], config["STAGES"]) == (blocks, stages)


def test_pixels_as_rows_in_tf32_have_blocks_of_one_stage():
    rung, problem = strategy("conv2d_weights_gradient", "turned_tf32", "cuda"), NAMED["lenet-conv1"]
    for blocks, given in ((3, {"WHERE_NARROW": 1}), (2, {})):
        config = rung.config(stored_by(rung, problem, given)[0])
        assert (config["SEGMENTS"], config["BLOCKS"], config["STAGES"]) == (1, blocks, 1)
    few = dataclasses.replace(problem, height=30, width=30)
    assert rung.config(few.stored(where="uint8"))["BLOCKS"] == 4
    assert "no whole pairs" in rung.why_not(dataclasses.replace(problem, width=88))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pool": None}, "do not overlap"),
        ({"pool": Pool.of("max", 4, 2)}, "do not overlap"),
        ({"pool": Pool.of("max", 3)}, "neither two nor four columns"),
        ({"pool": Pool.of("max", (3, 4))}, "pairs of rows"),
        ({"pool": Pool.of("max", (6, 4))}, "24 positions"),
        ({"stride": (1, 2)}, "stride"),
        ({"mask": (9, 9)}, "216 sums of a thread"),
        ({"width": 80}, "registers of a thread that lays, 80 are left"),
        ({"width": 1200}, "rows of 302 units"),
    ],
)
def test_warpgroups_say_what_they_refuse(change, why):
    problem = dataclasses.replace(NAMED["lenet-conv2"], **change)
    assert why in strategy("conv2d_weights_gradient", "warpgroups_tf32", "cuda").why_not(problem)


def test_warpgroups_share_out_rows_of_positions_and_hold_what_registers_do():
    problem = dataclasses.replace(NAMED["lenet-conv2"], images=8192)
    narrow = {"X_NARROW": 1, "WHERE_NARROW": 1}
    for precision, flags, ahead, doubts in (
        ("bf16", {}, 1, 0),
        ("bf16", narrow, 2, 0),
        ("tf32", {}, 1, 64),
    ):
        rung = strategy("conv2d_weights_gradient", f"warpgroups_{precision}", "cuda")
        stored, _ = stored_by(rung, problem, flags)
        config = rung.config(stored)
        assert config["TOGETHER"] == 2
        macros = rung.macros(stored, config)
        assert [macros[name] for name in ("AHEAD", "LAYING_REGISTERS", "STAGES")] == [ahead, 80, 3]
        partial, _ = rung.steps(problem, config)
        assert (partial.launch.grid, partial.launch.block) == ((132, 1, 1), (512, 1, 1))
        assert rung.workspace(problem, config)["partial"] == 132 * (16 * 4 * 49 + 16 + doubts)
        assert "no whole sets" in rung.invalid(problem, {**config, "TOGETHER": 3})
        small = rung.on(dataclasses.replace(preset(), block_shared_bytes=100 * 1024))
        assert "143392 bytes of shared memory" in small.why_not(problem)


@pytest.mark.parametrize(("architecture", "many"), [("sm_90", "warpgroups"), ("sm_80", "mma")])
def test_warpgroups_take_many_images_of_many_channels(monkeypatch, architecture, many):
    gpu = SimpleNamespace(description=SimpleNamespace(architecture=architecture))
    monkeypatch.setattr(choice, "lent_gpu", lambda device: gpu)
    for name, images, expected in (
        ("lenet-conv2", 8192, (many,)),
        ("lenet-conv1", 8192, ("turned", "mma")),
    ):
        problem = dataclasses.replace(NAMED[name], images=images)
        for precision in ("tf32", "bf16", "fp16"):
            chosen = choose(problem, precision, "cuda").name
            assert chosen in [f"{one}_{precision}" for one in expected]
    few = dataclasses.replace(NAMED["lenet-conv2"], images=1)
    assert choose(few, "tf32", "cuda").precision == "ieee"
