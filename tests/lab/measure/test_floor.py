"""A time that the ceilings do not allow is no time."""

from __future__ import annotations

import math

import pytest

from rooftile.lab.measure import floor
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.ops import Pool, Pool2d, named
from rooftile.runtime.timing.device import Times
from rooftile.runtime.timing.host import Timing

ROOF = GpuCeilings(
    fma_gflops=50_000.0, read_gbps=4_000.0, copy_gbps=4_200.0, mma_gflops={"tf32": 240_000.0},
    launch_us=9.0, replay_us=1.1, to_device_gbps=20.0, from_device_gbps=18.0,
    to_device_pinned_gbps=None, from_device_pinned_gbps=None, clocks=None,
)  # fmt: skip


def times(warm, cold=None):
    def timing(median):
        return Timing(median, median, median, median, 20, True)

    return Times(timing(warm), timing(warm if cold is None else cold), "", None)


def judge(problem, timing, *, cache=0, precision="ieee", sizes=None):
    rates = ROOF.most_gflops(precision), ROOF.bandwidth_gbps
    traffic = floor.Traffic.of(problem, sizes)
    return floor.below_floor(problem, traffic, *rates, timing.warm, timing.cold, cache)


def test_a_time_below_the_arithmetic_is_invalid():
    problem = named("conv2d", "lab-conv5", 1)
    # Three TF32 products make one of float32 accuracy, and instructions of four warps at most
    # twice as many as `mma.sync`: 160 TFLOP/s here, more than by FMAs.
    least = problem.flops / 160e9
    assert judge(problem, times(1.01 * least)) == ""
    assert "its FLOPs" in judge(problem, times(0.89 * least))
    assert judge(problem, times(0.5 * least), precision="fast") == ""
    assert judge(problem, times(0.34 * least), precision="tf32") == ""
    assert "its FLOPs" in judge(problem, times(0.29 * least), precision="tf32")


def test_a_time_below_the_memory_traffic_is_invalid():
    problem = named("conv2d", "lenet-conv1", 10000)
    least = problem.bytes / 4200e6
    assert judge(problem, times(0.8 * least), precision="fast").startswith("warm")
    assert judge(problem, times(1.01 * least), precision="fast") == ""


def test_what_the_cache_may_hold_need_not_move_in_a_warm_time():
    problem = named("conv2d", "lenet-conv1", 100)
    cache = 2 * problem.bytes
    warm = 0.1 * problem.bytes / 4200e6
    inputs = (problem.bytes - 4 * math.prod(problem.output_shape)) / 4200e6
    assert judge(problem, times(warm, 1.01 * inputs), cache=cache, precision="fast") == ""
    reason = judge(problem, times(warm, 0.8 * inputs), cache=cache, precision="fast")
    assert reason.startswith("cold")
    assert "the bytes that must move" in reason


def test_what_lies_in_16_bits_moves_half_as_many_bytes():
    problem = named("conv2d", "lenet-conv2", 10)
    held = sum(math.prod(shape) for shape in problem.parameter_shapes.values())
    x, out = (math.prod(shape) for shape in (problem.input_shape, problem.output_shape))
    full = floor.Traffic.of(problem)
    assert (full.given, full.results, full.all) == (4 * (x + held), 4 * out, problem.bytes)
    sizes = {array.name: 2 for array in problem.arrays}
    assert floor.Traffic.of(problem, sizes).all == problem.bytes // 2
    assert floor.Traffic.of(problem, {"out": 2}).results == 2 * out
    least = full.all / 4200e6
    assert judge(problem, times(0.6 * least), precision="fast") != ""
    assert judge(problem, times(0.6 * least), precision="fast", sizes=sizes) == ""


def test_inputs_that_no_window_covers_do_not_move():
    problem = Pool2d(2, 3, 5, 5, Pool("max", (2, 2), (2, 2)))
    assert floor.Traffic.of(problem).all == problem.bytes < 4 * 2 * 3 * (25 + 4)


@pytest.mark.parametrize("short", [0, 1])
def test_where_nobody_tells_the_caches_size_only_arithmetic_bounds(short):
    memory = named("conv2d", "lenet-conv1", 10000)
    moments = [1.0, 1.0]
    moments[short] = 0.01 * memory.bytes / 4200e6
    assert judge(memory, times(*moments), cache=None, precision="fast") == ""
    arithmetic = named("conv2d", "lab-conv5", 1)
    moments[short] = 0.5 * arithmetic.flops / 160e9
    assert "its FLOPs" in judge(arithmetic, times(*moments), cache=None)
