"""Every GPU rung of `conv2d_weights_gradient`."""

from __future__ import annotations

import dataclasses

import numpy as np
from every_rung import Wrong
from gradient_rungs import EveryGpuRung

from rooftile.ops import Pool
from rooftile.ops.conv2d_weights_gradient import NAMED, Conv2dWeightsGradient
from rooftile.strategies import strategy

POOL = Pool.of("max", 2)
PLACED = Conv2dWeightsGradient(10, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), POOL)


class TestRungs(EveryGpuRung):
    # Gradients of all outputs and of winners; more channels than a tile holds; overlap.
    problems = (
        Conv2dWeightsGradient(2, 1, 30, 63, 2, (3, 4), pool=Pool.of("max", 3, 2)),
        Conv2dWeightsGradient(2, 5, 9, 10, 9, (7, 7)),
        PLACED,
        Conv2dWeightsGradient(9, 5, 17, 19, 5, (7, 4), (1, 1), (2, 1), Pool.of("max", (3, 4))),
    )
    near = (Conv2dWeightsGradient(3, 2, 14, 17, 3, (3, 4), padding=(2, 1), pool=POOL),)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        near[0],
        ("naive", "(n * MAPS + map) * GRADIENTS + e;", "(n * MAPS + map) * GRADIENTS;"),
        ("block_tree", "reach > 0; reach /= 2", "reach > 1; reach /= 2"),
        ("lane_taps", "UNROLL_BY(8) for (int row = threadIdx.y", "for (int row = 1 + threadIdx.y"),
        ("windows", "odd ? row[q + 1] : row[q]", "row[q]"),
        ("lane_rows", "? 0.0f : 1.0f;", "? 0.0f : 2.0f;"),
        ("lane_taps", "+ j] : 0.0f;", "+ j] : 1.0f;"),
    )


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


def test_images_are_halved_where_they_do_not_fill_the_gpu():
    rung, problem = strategy("conv2d_weights_gradient", "windows", "cuda"), NAMED["lenet-conv1"]
    assert rung.defaults(dataclasses.replace(problem, images=64)) == {"TEAMS": 2, "PARTS": 2}
    assert rung.defaults(dataclasses.replace(problem, images=8192)) == {"TEAMS": 4, "PARTS": 1}
