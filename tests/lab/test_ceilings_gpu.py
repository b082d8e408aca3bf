from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from rooftile.devices import cuda
from rooftile.lab import ceilings_gpu as lab
from rooftile.lab import floor
from rooftile.lab.measure import Timing
from rooftile.lab.measure_gpu import GpuTiming, text
from rooftile.lab.telemetry import Clocks
from rooftile.ops import named

ROOF = lab.GpuCeilings(
    fma_gflops=50_000.0, read_gbps=4_000.0, copy_gbps=4_200.0, mma_gflops={"tf32": 240_000.0},
    launch_us=9.0, replay_us=1.1, to_device_gbps=20.0, from_device_gbps=18.0,
    to_device_pinned_gbps=55.0, from_device_pinned_gbps=54.0,
    clocks=Clocks(1980, 1755, 500.0, 60, 8, 1, ("power cap",)),
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(lab, "_SECONDS", 0)
    monkeypatch.setattr(lab, "_BUFFER_BYTES", 2**24)
    monkeypatch.setattr(lab, "_HOST_BYTES", 2**20)


def test_ceilings_are_measured_once_and_kept(opencl_device, monkeypatch):
    lines = []
    measured = lab.gpu_ceilings(opencl_device, progress=lines.append)
    assert len(lines) == 3
    for name, value in dataclasses.asdict(measured).items():
        if isinstance(value, float):
            assert value > 0, name
            assert math.isfinite(value), name
    assert measured.mma_gflops == {}
    assert measured.to_device_pinned_gbps is None
    monkeypatch.setattr(lab, "measure_gpu_ceilings", None)
    assert lab.gpu_ceilings(opencl_device) == measured


def test_refresh_measures_again(opencl_device, monkeypatch):
    monkeypatch.setattr(lab, "measure_gpu_ceilings", lambda *_: ROOF)
    lab.gpu_ceilings(opencl_device)
    faster = dataclasses.replace(ROOF, fma_gflops=60_000.0)
    monkeypatch.setattr(lab, "measure_gpu_ceilings", lambda *_: faster)
    assert lab.gpu_ceilings(opencl_device) == ROOF
    assert lab.gpu_ceilings(opencl_device, refresh=True) == faster
    assert lab.gpu_ceilings(opencl_device) == faster


def test_what_cannot_be_read_is_measured(tmp_path):
    path = tmp_path / "kept.json"
    assert lab.read_ceilings(path) is None
    for wrong in ("{", "[]", '{"fma_gflops": 1}'):
        path.write_text(wrong)
        assert lab.read_ceilings(path) is None
    path.write_text(json.dumps(dataclasses.asdict(ROOF)))
    assert lab.read_ceilings(path) == ROOF


def test_kernels_read_and_copy_all_of_their_bytes(opencl_device):
    threads, loads, blocks = 256, 4, 3
    x = np.random.default_rng(0).random(4 * threads * loads * blocks, np.float32)
    program = opencl_device.compile(text("memory"), {"THREADS": threads, "LOADS": loads})
    given, target = opencl_device.upload(x), opencl_device.upload(np.zeros_like(x))
    grid = ((blocks, 1, 1), (threads, 1, 1))
    program.launch(lab.Launch("copy_all", *grid), given, target)
    out = np.empty_like(x)
    opencl_device.copy_out(target, out)
    assert np.array_equal(out, x)
    # A sum is negative only where all of its terms were read.
    program.launch(lab.Launch("read_all", *grid), opencl_device.upload(-x), target)
    opencl_device.copy_out(target, out)
    assert out[0] < 0


def test_fma_chains_do_all_of_their_steps(opencl_device):
    x = np.array([1.0] * 8 + [0.5, 1.0], np.float32)
    program = opencl_device.compile(text("fma"), {"CHAINS": 8, "STEPS": 64})
    out = np.zeros(4, np.float32)
    target = opencl_device.upload(out)
    launch = lab.Launch("fma_chains", (1, 1, 1), (4, 1, 1))
    program.launch(launch, opencl_device.upload(x), target)
    opencl_device.copy_out(target, out)
    assert out == pytest.approx(8 * 2.0)  # a = a / 2 + 1 goes to 2 from anywhere.


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_microbenchmarks_compile_with_nvrtc(architecture):
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    assert cuda.compile_cubin(text("memory"), {"THREADS": 256, "LOADS": 4}, architecture)
    assert cuda.compile_cubin(text("fma"), {"CHAINS": 8, "STEPS": 4096}, architecture)
    if architecture == "sm_75":
        return
    for name in ("TF32", "FP16", "BF16"):
        macros = {f"PRECISION_{other}": int(other == name) for other in ("TF32", "FP16", "BF16")}
        assert cuda.compile_cubin(text("tensor"), {"TILES": 8, "STEPS": 64, **macros}, architecture)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
def test_matrix_operands_are_numbers_that_are_not_zero(precision):
    registers = lab._operands(precision)
    assert (registers.shape, registers.dtype) == ((1024,), np.float32)
    bits = registers.view(np.uint32)
    if precision == "tf32":
        values = registers
    elif precision == "fp16":
        values = registers.view(np.float16).astype(np.float32)
    else:
        halves = registers.view(np.uint16).astype(np.uint32) << 16
        values = halves.view(np.float32)
    assert np.isfinite(values).all()
    assert 0.9 < values.std() < 1.1
    assert (bits != 0).all()


def times(warm, cold=None):
    def timing(median):
        return Timing(median, median, median, median, 20, True)

    return GpuTiming(timing(warm), timing(warm if cold is None else cold), "", None)


def judge(problem, timing, *, cache=0, precision="ieee"):
    most = ROOF.most_gflops(precision)
    return floor.below_floor(problem, most, ROOF.bandwidth_gbps, timing.warm, timing.cold, cache)


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


def test_the_roof_of_a_precision_is_of_its_own_instructions():
    problem = named("conv2d", "lab-conv5", 1)
    for precision, rate in (("ieee", 50e9), ("fast", 50e9), ("tf32", 240e9)):
        assert ROOF.floor_ms(problem, precision) == pytest.approx(problem.flops / rate)


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
