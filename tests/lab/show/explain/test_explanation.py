"""Explanations of every rung: consistent, without a GPU, with what is missing said."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from rooftile.analysis.architectures import GPUS
from rooftile.cli.render.explanation import bound_lines
from rooftile.devices.cuda.compile import cuda_core
from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.records import Error, Row, problem_json
from rooftile.lab.show.explain import explain, latest, of_record
from rooftile.lab.show.explain import kernels as kernels_module
from rooftile.lab.show.explain import target as target_module
from rooftile.lab.show.explain.advice import advice
from rooftile.lab.show.explain.explanation import ARITHMETIC, CACHES, MEMORY, rate_of
from rooftile.lab.show.explain.measured import Measured
from rooftile.lab.show.explain.target import find_target
from rooftile.ops import Conv2d, Pool, Pool2d, Softmax, named
from rooftile.runtime.timing.host import Timing
from rooftile.strategies import ladder, strategy

PROBLEMS = {
    "conv2d": named("conv2d", "lenet-conv1", 100),
    "linear": named("linear", "lenet-linear1", 100),
    "pool2d": Pool2d(10, 3, 40, 40, Pool.of("max", 2)),
    "softmax": Softmax(100, 10),
}
COMPILED = {
    "conv2d": named("conv2d", "lenet-conv2"),
    "linear": named("linear", "lenet-linear1", 10_000),
    "pool2d": named("pool2d", "lenet-pool1", 256),
    "softmax": named("softmax", "classes-10", 256),
}
"""Problems for which tests of rungs have the texts compiled anyway."""
RUNGS = [
    pytest.param(rung, id=f"{operation}-{rung.name}")
    for operation in COMPILED
    for rung in ladder(operation, "cuda")
    # Those at bfloat16 have the texts of float16.
    if rung.why_not(COMPILED[operation]) is None and rung.precision != "bf16"
]


@pytest.fixture(scope="module")
def nvrtc():
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))


def explained(name="tile_output", architecture="sm_90", **given):
    problem = PROBLEMS["conv2d"]
    rung = strategy("conv2d", name, "cuda")
    return explain(rung, problem, "cuda", find_target("cuda", architecture), **given)


def measured(milliseconds, **config):
    return Measured(milliseconds, None, "a GPU", "a test", config)


@pytest.mark.parametrize("rung", RUNGS)
def test_every_rung_is_explained_without_a_gpu(rung, nvrtc):
    problem = COMPILED[rung.operation]
    found = explain(rung, problem, "cuda", find_target("cuda", "sm_90"))
    steps = rung.steps(problem, found.config)
    assert sum(kernel.launches for kernel in found.kernels) == len(steps)
    # What lies in constant memory is not counted, nor are biases.
    shapes = problem.parameter_shapes.values()
    constant = bool(rung.constants(problem, found.config))
    uncounted = sum(math.prod(shape) if constant else len(shape) and shape[0] for shape in shapes)
    rows = problem.output_shape[0] + problem.batch
    assert found.moved_bytes >= problem.bytes - 4 * (rows + uncounted)
    assert MEMORY in found.limits_ms
    assert found.bound_ms >= max(found.limits_ms.values()) * (1 - 1e-9)
    assert 1 <= len(advice(found)) <= 2
    if rung.architectures in ((), ("sm_90",)):
        assert all(kernel.occupancy.blocks for kernel in found.kernels)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["strategy"] == rung.name


def test_the_bound_is_the_sum_of_kernels_each_at_its_highest_limit():
    found = explained("im2col")
    assert [kernel.name for kernel in found.kernels] == [
        "im2col_unroll", "im2col_multiply", "im2col_finish",
    ]  # fmt: skip
    memory = [
        1e-6 * (k.read_bytes + k.written_bytes) / GPUS["9.0"].bandwidth_gb_s for k in found.kernels
    ]
    assert found.limits_ms[MEMORY] == pytest.approx(sum(memory))
    assert found.bound_ms < sum(found.limits_ms.values())
    assert found.limits_ms[ARITHMETIC] == pytest.approx(
        1e-6 * found.problem.flops / GPUS["9.0"].peak_gflops
    )
    # matrix: written once, read once; sums likewise; x, weights, bias and out once each.
    plane = 80 * 80 * 100
    assert found.moved_bytes == found.problem.bytes + 2 * 4 * plane * (49 + 4)


def test_occupancy_and_divergence_of_a_launch(nvrtc):
    (kernel,) = explained("naive", config={"BLOCK_X": 32, "BLOCK_Y": 8}).kernels
    assert kernel.grid.blocks == (2, 5, 400)
    # Columns 32 to 39 are 8 of a warp's 32 threads, in each row of every second block.
    assert kernel.accesses.divergent_warps == 400 * 40
    assert kernel.occupancy.warps == 8 * kernel.occupancy.blocks


def test_grids_are_those_for_the_target_s_machine():
    problem = Conv2d(1000, 64, 24, 24, 64, (3, 3), padding=(1, 1), pool=Pool.of("max", 2))
    rung = strategy("conv2d", "implicit_gemm_fp16", "cuda")
    sheet = find_target("cuda", "sm_90")
    machine = dataclasses.replace(sheet.machine, multiprocessors=114)
    for target, blocks in ((sheet, 132), (dataclasses.replace(sheet, machine=machine), 114)):
        found = explain(rung, problem, "cuda", target)
        assert found.kernels[-1].grid.blocks == (blocks, 1, 1)
    # Elsewhere it does not run: what is told is of the GPUs that it is for.
    elsewhere = explain(rung, problem, "cuda", find_target("cuda", "sm_80"))
    assert elsewhere.kernels[-1].grid.blocks == (132, 1, 1)
    assert "sm_90 alone, not sm_80" in elsewhere.missing


def test_narrow_arrays_are_half_as_large():
    problem, rung = PROBLEMS["conv2d"], strategy("conv2d", "direct_tile_fp16", "cuda")
    target = find_target("cuda", "sm_90")
    wide, narrow = (
        explain(rung, one, "cuda", target)
        for one in (problem, problem.stored(x="float16", out="float16"))
    )
    x, out = 4 * math.prod(problem.input_shape), 4 * math.prod(problem.output_shape)
    assert wide.moved_bytes - narrow.moved_bytes == x // 2 + out // 2


def test_a_rung_without_launches_is_none_of_a_gpu_s():
    with pytest.raises(InputError, match="strategy"):
        explain(
            strategy("conv2d", "loops"), PROBLEMS["conv2d"], "cuda", find_target("cuda", "sm_90")
        )


def test_a_named_architecture_needs_no_device(monkeypatch):
    def none(device):
        raise DeviceMissing("a GPU", "one")

    monkeypatch.setattr(target_module, "open_gpu", none)
    assert find_target("cuda").source.startswith("no GPU here")
    assert find_target("cuda", "8.0").name == "A100 SXM 40 GB"
    assert find_target("opencl", "sm_86").sm is not None
    with pytest.raises(DeviceMissing):
        find_target("opencl")
    with pytest.raises(InputError, match="architecture"):
        find_target("cuda", "sm_33")
    with pytest.raises(InputError, match="device"):
        find_target("cpu")


def test_without_a_compiler_it_says_what_is_not_told(monkeypatch):
    def none(*_):
        raise DeviceMissing("NVRTC", "it")

    monkeypatch.setattr(kernels_module, "compile_cubin", none)
    found = explained()
    assert found.kernels[0].occupancy is None
    assert "NVRTC" in found.missing
    assert found.bound_by == CACHES


def test_a_strategy_without_a_model_is_explained_by_what_it_touches():
    found = explained("winograd")
    assert found.input_loads is None
    assert "no model" in found.missing
    assert "FLOPs the transform saves" in found.missing
    assert set(found.limits_ms) == {MEMORY}


@pytest.mark.parametrize("batch", [1, 256])
def test_prepared_weights_are_read_once_whatever_the_batch(batch):
    """A workspace that does not grow with the images, made before the launches are counted."""
    problem = named("linear", "mnist-linear1", batch)
    rung = strategy("linear", "mma_fp16", "cuda")
    found = explain(rung, problem, "cuda", find_target("cuda", "sm_90"))
    first = found.kernels[0]
    weights = 2 * problem.inputs * problem.outputs
    images = 4 * math.prod(problem.input_shape)
    assert weights + images <= first.read_bytes <= 1.05 * (weights + images) + 4096


def test_bad_configs(nvrtc):
    with pytest.raises(InputError, match="config"):
        explained(config={"TILE_Z": 3})
    with pytest.raises(InputError, match="BLOCK_X"):
        explained("naive", config={"BLOCK_X": 0})
    with pytest.raises(InputError, match="threads"):
        explained("naive", config={"BLOCK_X": 64, "BLOCK_Y": 64})
    with pytest.raises(InputError, match="no whole pooling window"):
        explained("tile_input", config={"TILE_Y": 1, "TILE_X": 1})


def test_a_measured_time_brings_its_config_and_its_share():
    found = explained(measured=measured(10.0, TILE_Y=8, TILE_X=32))
    assert dict(found.config) == {"TILE_Y": 8, "TILE_X": 32}
    assert found.bound_fraction == found.bound_ms / 10.0


def test_advice_follows_from_the_numbers():
    slow = explained(measured=measured(1.0))
    assert "shared memory serves" in advice(slow)[0]
    fast = explained("direct_tile", measured=measured(1e-9))
    assert "as the kernel's text has them" in advice(fast)[0]
    near = explained("direct_tile")
    near = dataclasses.replace(near, measured=measured(near.bound_ms / 0.9))
    assert "1.11 times its bound" in advice(near)[0]
    assert "Arithmetic bounds it" in advice(explained("direct_tile"))[-1]
    moving = explained("im2col")
    assert f"{moving.moved_bytes / moving.problem.bytes:.1f} times" in advice(moving)[0]
    problem = PROBLEMS["conv2d"].with_batch(1)
    rung = strategy("conv2d", "direct_tile", "cuda")
    few = explain(rung, problem, "cuda", find_target("cuda", "sm_90"))
    if few.kernels[0].waves is not None:
        assert "of what the device holds" in advice(few)[0]


def test_times_from_the_history_and_from_a_record(history_path, tmp_path):
    from rooftile.lab.measure.history.store import History

    problem = PROBLEMS["conv2d"]
    assert latest(problem, "cuda", "naive") is None
    timing = Timing(2.0, 1.9, 2.1, 1.8, 9, True)
    row = Row("strategy", "naive", "cuda:0", "ieee", "passed", time_ms=timing, gflops=1.0, gbps=1.0,
              config={"BLOCK_X": 64, "BLOCK_Y": 4}, error=Error(0.0, 0.0, 0.1))  # fmt: skip
    with History() as history:
        run = history.begin("climb", "cuda:0", "NVIDIA H200", {})
        history.add(run, problem, row)
    found = latest(problem, "cuda", "naive")
    assert (found.median_ms, found.hardware) == (2.0, "NVIDIA H200")
    assert latest(problem.with_batch(7), "cuda", "naive") is None
    with History() as history:
        for command, kind, time in (
            ("audit", "peer", 9.0), ("tune", "strategy", 8.0), ("final", "strategy", 1.5)
        ):  # fmt: skip
            run = history.begin(command, "cuda:0", "NVIDIA H200", {})
            times = dataclasses.replace(timing, median=time)
            history.add(run, problem, dataclasses.replace(row, kind=kind, time_ms=times))
            found = latest(problem, "cuda", "naive")
            assert found.median_ms == (1.5 if command == "final" else 2.0)
    path = tmp_path / "climb.json"
    timed = {"kind": "strategy", "strategy": "naive", "time_ms": {"median": 3.0}}
    record = {"problem": problem_json(problem), "device": "cuda:0", "environment": {}}
    record["rows"] = [timed]
    path.write_text(json.dumps(record))
    assert of_record(path, problem, "naive").median_ms == 3.0
    for other, name in ((problem, "fft"), (problem.with_batch(2), "naive")):
        with pytest.raises(InputError, match="record"):
            of_record(path, other, name)
    path.write_text("{}")
    with pytest.raises(InputError, match="climb --json"):
        of_record(path, problem, "naive")


@pytest.mark.parametrize("rung", RUNGS)
def test_the_driver_gives_the_same_occupancy(rung, cuda_device):
    problem, description = PROBLEMS[rung.operation], cuda_device.description
    if rung.why_not(problem) is not None:
        problem = COMPILED[rung.operation]
    reason = rung.why_not_on(description.architecture)
    if reason is not None:
        pytest.skip(reason)
    found = explain(rung, problem, "cuda", find_target("cuda"))
    with cuda_device.on():
        told = rung.compile(problem, cuda_device).resources()
    steps = rung.steps(problem, found.config)
    for kernel in found.kernels:
        each = [t for t, step in zip(told, steps, strict=True) if step.launch.kernel == kernel.name]
        assert (kernel.registers, kernel.shared_bytes) == (each[0].registers, each[0].shared_bytes)
        threads = kernel.occupancy.blocks * kernel.grid.block_threads
        assert threads / description.threads_per_unit == pytest.approx(each[0].occupancy)


def test_only_rungs_on_tensor_cores_are_bound_by_their_rates():
    ceilings = GpuCeilings(
        fma_gflops=60e3, read_gbps=4e3, copy_gbps=4e3, mma_gflops={"tf32": 300e3},
        launch_us=9, replay_us=1, to_device_gbps=20, from_device_gbps=18,
        to_device_pinned_gbps=None, from_device_pinned_gbps=None, clocks=None,
        wgmma_gflops={"tf32": 420e3},
    )  # fmt: skip
    sheet = find_target("cuda", "sm_90")
    target = dataclasses.replace(sheet, ceilings=ceilings, fma_gflops=60e3)
    split, naive = (strategy("conv2d", name, "cuda") for name in ("implicit_gemm_ieee", "naive"))
    assert rate_of(naive, target) == 60e3
    # These need instructions of newer GPUs for their copies and formats alone.
    for name in ("direct_bulk", "direct_tile_fp16"):
        assert rate_of(strategy("conv2d", name, "cuda"), target) == 60e3
    assert rate_of(split, target) == 140e3
    assert rate_of(strategy("conv2d", "implicit_gemm_tf32", "cuda"), target) == 420e3
    assert rate_of(strategy("conv2d", "implicit_gemm_fp16", "cuda"), target) is None
    # A data sheet has no matrix rates.
    assert (rate_of(naive, sheet), rate_of(split, sheet)) == (sheet.fma_gflops, None)
    assert target.gflops("ieee") == 140e3


def test_what_must_be_under_way_follows_from_the_latency(nvrtc):
    assert explained().target.bytes_under_way() is None
    target = dataclasses.replace(find_target("cuda", "sm_90"), latency_ns=600.0)
    needed = target.bytes_under_way()
    assert needed == pytest.approx(600.0 * target.bandwidth_gb_s)
    problem = PROBLEMS["conv2d"]
    found = explain(strategy("conv2d", "tile_output", "cuda"), problem, "cuda", target)
    (kernel,) = found.kernels
    resident = kernel.occupancy.warps * 32 * target.multiprocessors
    assert found.bytes_a_thread(kernel) == pytest.approx(needed / resident)
    assert found.to_json()["kernels"][0]["bytes_a_thread"] == found.bytes_a_thread(kernel)
    (line,) = [line for line in bound_lines(found) if line.startswith("latency:")]
    assert "after 600 ns" in line


def test_the_textbook_s_bound_counts_on_no_cache(nvrtc):
    found, gpu = explained(), GPUS["9.0"]
    (made,) = [kernel.accesses for kernel in found.kernels]
    moved = 4 * (made.loads + made.stores)
    assert found.uncached_ms == pytest.approx(1e-6 * moved / gpu.bandwidth_gb_s)
    assert found.to_json()["uncached_ms"] == found.uncached_ms
    timed = dataclasses.replace(found, measured=measured(2.0))
    (line,) = [line for line in bound_lines(timed) if line.startswith("the textbook's")]
    assert "reached 125 GFLOP/s" in line
    assert explained("winograd").uncached_ms is None
