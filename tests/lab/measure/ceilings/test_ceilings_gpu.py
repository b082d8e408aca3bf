from __future__ import annotations

import dataclasses
import io
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.devices import cuda
from rooftile.devices.ceilings import sealed
from rooftile.devices.cuda.compile import macro_lines, prelude
from rooftile.devices.cuda.cubin import resources
from rooftile.devices.gpu import Launch
from rooftile.lab.measure.ceilings import gpu as lab
from rooftile.lab.measure.ceilings import gpu_kernels as _microbenchmarks_gpu
from rooftile.lab.measure.ceilings import wgmma as _wgmma
from rooftile.lab.measure.ceilings.gpu_kernels import text
from rooftile.ops import named
from rooftile.runtime.timing.telemetry import Clocks
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.contract.gpu import HEADERS

ROOF = lab.GpuCeilings(
    fma_gflops=50_000.0, read_gbps=4_000.0, copy_gbps=4_200.0, mma_gflops={"tf32": 240_000.0},
    launch_us=9.0, replay_us=1.1, to_device_gbps=20.0, from_device_gbps=18.0,
    to_device_pinned_gbps=55.0, from_device_pinned_gbps=54.0,
    clocks=Clocks(1980, 1755, 500.0, 60, 8, 1, ("power cap",)),
)  # fmt: skip
HOPPER = dataclasses.replace(
    ROOF, mma_gflops={"tf32": 240_000.0, "fp16": 600_000.0},
    wgmma_gflops={"tf32": 420_000.0, "fp16": 590_000.0},
    wgmma_zeros_gflops={"tf32": 450_000.0, "fp16": 900_000.0},
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(_microbenchmarks_gpu, "SECONDS", 0)
    monkeypatch.setattr(_microbenchmarks_gpu, "BUFFER_BYTES", 2**24)
    monkeypatch.setattr(lab, "HOST_BYTES", 2**20)


def test_ceilings_are_measured_once_and_kept(opencl_device, monkeypatch):
    lines = []
    measured = lab.gpu_ceilings(opencl_device, progress=lines.append)
    assert len(lines) == 4
    for name, value in dataclasses.asdict(measured).items():
        if isinstance(value, float):
            assert value > 0, name
            assert math.isfinite(value), name
    assert measured.mma_gflops == measured.wgmma_gflops == measured.wgmma_zeros_gflops == {}
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
    path.write_bytes(sealed(dataclasses.asdict(HOPPER)))
    assert lab.read_ceilings(path) == HOPPER
    path.write_text(path.read_text().replace("4200.0", "0.5"))
    assert lab.read_ceilings(path) is None


def test_records_without_warpgroup_products_are_read_but_measured_again(tmp_path):
    record = dataclasses.asdict(ROOF)
    del record["wgmma_gflops"], record["wgmma_zeros_gflops"]
    assert lab.ceilings_from(record) == ROOF
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(record))
    assert lab.read_ceilings(path) is None


def test_kernels_read_and_copy_all_of_their_bytes(opencl_device):
    threads, loads, blocks = 256, 4, 3
    x = np.random.default_rng(0).random(4 * threads * loads * blocks, np.float32)
    program = opencl_device.compile(text("memory"), {"THREADS": threads, "LOADS": loads})
    given, target = opencl_device.upload(x), opencl_device.upload(np.zeros_like(x))
    grid = ((blocks, 1, 1), (threads, 1, 1))
    program.launch(Launch("copy_all", *grid), given, target)
    out = np.empty_like(x)
    opencl_device.copy_out(target, out)
    assert np.array_equal(out, x)
    # A sum is negative only where all of its terms were read.
    program.launch(Launch("read_all", *grid), opencl_device.upload(-x), target)
    opencl_device.copy_out(target, out)
    assert out[0] < 0


def test_fma_chains_do_all_of_their_steps(opencl_device):
    x = np.array([1.0] * 8 + [0.5, 1.0], np.float32)
    program = opencl_device.compile(text("fma"), {"CHAINS": 8, "STEPS": 64})
    out = np.zeros(4, np.float32)
    target = opencl_device.upload(out)
    launch = Launch("fma_chains", (1, 1, 1), (4, 1, 1))
    program.launch(launch, opencl_device.upload(x), target)
    opencl_device.copy_out(target, out)
    assert out == pytest.approx(8 * 2.0)  # a = a / 2 + 1 goes to 2 from anywhere.


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_microbenchmarks_compile_with_nvrtc(architecture):
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    assert cuda.compile_cubin(text("memory"), {"THREADS": 256, "LOADS": 4}, architecture)
    assert cuda.compile_cubin(text("fma"), {"CHAINS": 8, "STEPS": 4096}, architecture)
    macros = {"THREADS": 256, "LOADS": 8, "CONSTANTS": 256}
    assert cuda.compile_cubin(text("latency"), macros, architecture)
    if architecture == "sm_75":
        return
    for cores in CORES.values():
        macros = {"TILES": 8, "STEPS": 64, "CORES": cores.word}
        assert cuda.compile_cubin(text("tensor"), macros, architecture, (HEADERS,))


# Every size at one precision; the others hold the same sums.
CHAINS = [_wgmma.Chains("fp16", g) for g in _wgmma.GROUPS]
CHAINS += [_wgmma.Chains(p, max(_wgmma.GROUPS)) for p in ("tf32", "bf16")]


@pytest.mark.parametrize("chains", CHAINS, ids=lambda c: f"{c.precision}-{c.groups}")
def test_chains_of_warpgroup_products_compile_without_spills(chains, compiled_log):
    # ptxas says (C7510) where it would wait for each product by itself.
    code, log = compiled_log(text("wgmma"), chains.macros(), "sm_90a")
    (taken,) = resources(code).values()
    assert taken.frame_bytes == 0
    assert taken.registers * 128 * chains.groups <= 65536
    assert log == ""
    assert chains.launch(1).shared_bytes <= 227 * 1024


@pytest.fixture
def compiled_log():
    """Compiles a text as `cuda.compile_cubin` does, past its cache, and gives the log too."""
    core = pytest.importorskip("cuda.core", reason="cuda-core is not installed")

    def compiled(kernels, macros, architecture):
        log = io.StringIO()
        options = core.ProgramOptions(arch=architecture, std="c++17", include_path=[str(HEADERS)])
        source = f'{macro_lines(macros)}extern "C" {{\n{prelude()}{kernels}\n}}\n'
        code = core.Program(source, "c++", options).compile("cubin", logs=log).code
        return bytes(code), log.getvalue()

    return compiled


@pytest.mark.parametrize("chains", CHAINS, ids=lambda c: f"{c.precision}-{c.groups}")
def test_chains_of_warpgroup_products_are_counted_and_of_normal_numbers(chains):
    values = chains.values()
    stages, lines, numbers = values.shape
    assert stages * numbers == chains.depth
    assert 0.99 < values.std() < 1.01
    _, rows, columns = chains.out(5)
    assert lines == rows + columns
    assert chains.stored(values).nbytes == stages * lines * 128 == chains.launch(5).shared_bytes
    assert chains.flops(5) == 2 * 5 * rows * columns * chains.depth * chains.steps


@pytest.mark.gpu
@pytest.mark.parametrize("chains", CHAINS, ids=lambda c: f"{c.precision}-{c.groups}")
def test_chains_of_warpgroup_products_are_right(cuda_device, chains):
    if cuda_device.description.architecture != _wgmma.ARCHITECTURE:
        pytest.skip("it has no warpgroup products")
    chains = dataclasses.replace(chains, steps=3)
    values = chains.values()
    program = cuda_device.compile(text("wgmma"), chains.macros(), (HEADERS,))
    out = np.full(chains.out(2), np.nan, np.float32)
    target = cuda_device.upload(out)
    program.launch(chains.launch(2), cuda_device.upload(chains.stored(values)), target)
    cuda_device.copy_out(target, out)
    a, b = np.split(values.astype(np.float64), [chains.rows], axis=1)
    sums = np.einsum("sik,sjk->ij", a, b)
    assert np.abs(out - sums).max() < 1e-5 * np.einsum("sik,sjk->ij", abs(a), abs(b)).max()


@pytest.mark.parametrize("architecture", ["sm_80", "sm_89", "sm_100", "sm_120"])
def test_warpgroup_products_are_hoppers_alone(architecture):
    device = SimpleNamespace(kind="cuda", architecture=architecture)
    bench = SimpleNamespace(device=SimpleNamespace(description=device))
    assert lab.Bench.wgmma(bench) == ({}, {})


def test_a_rate_that_was_disturbed_once_is_not_the_ceiling(opencl_device, monkeypatch):
    passes = iter([
        ({"": 60e3}, {"fp16": 650e3, "tf32": 90e3}, {"fp16": 390e3}, {"fp16": 775e3}),
        ({"": 50e3}, {"fp16": 640e3, "tf32": 325e3}, {"fp16": 860e3}, {"fp16": 890e3}),
    ])  # fmt: skip
    monkeypatch.setattr(lab.Bench, "arithmetic", lambda bench: next(passes))
    found = lab.measure_gpu_ceilings(opencl_device)
    assert found.fma_gflops == 60e3
    assert found.mma_gflops == {"fp16": 650e3, "tf32": 325e3}
    assert (found.wgmma_gflops, found.wgmma_zeros_gflops) == ({"fp16": 860e3}, {"fp16": 890e3})


def test_the_fastest_of_the_blocks_is_the_rate():
    device = SimpleNamespace(kind="cuda", architecture="sm_90")
    bench = SimpleNamespace(
        device=SimpleNamespace(description=device),
        _chains=lambda chains, values: chains.groups + 10.0 * (not values.any()),
    )
    normal, zeros = lab.Bench.wgmma(bench)
    assert normal == dict.fromkeys(("tf32", "fp16", "bf16"), max(_wgmma.GROUPS))
    assert zeros == dict.fromkeys(("tf32", "fp16", "bf16"), 10 + max(_wgmma.GROUPS))


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
def test_matrix_operands_are_numbers_that_are_not_zero(precision):
    registers = _microbenchmarks_gpu.operands(precision)
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


def test_the_roof_of_a_precision_is_of_its_own_instructions():
    problem = named("conv2d", "lab-conv5", 1)
    # float32 accuracy by FMAs, or by three products of TF32 or float16 for each.
    for precision, rate in (("ieee", 80e9), ("fast", 80e9), ("tf32", 240e9)):
        assert ROOF.floor_ms(problem, precision) == pytest.approx(problem.flops / rate)
    slow = dataclasses.replace(ROOF, mma_gflops={"tf32": 120_000.0})
    assert slow.rate_gflops() == 50_000
    half = dataclasses.replace(ROOF, mma_gflops={"tf32": 120_000.0, "fp16": 270_000.0})
    assert half.rate_gflops() == 90_000
    assert dataclasses.replace(ROOF, mma_gflops={}).rate_gflops("tf32") == 50_000


def test_the_faster_matrix_instruction_is_the_ceiling():
    assert HOPPER.matrix_gflops == {"tf32": 420_000.0, "fp16": 600_000.0}
    assert HOPPER.rate_gflops("tf32") == 420_000
    assert HOPPER.rate_gflops("fp16") == 600_000
    assert HOPPER.rate_gflops("ieee") == 200_000


def test_a_limit_is_that_of_the_floor():
    problem = named("conv2d", "lab-conv5", 1)
    bandwidth = problem.bytes / (problem.flops / 100e3)
    slow = dataclasses.replace(HOPPER, read_gbps=bandwidth, copy_gbps=1.0)
    assert slow.limit(problem) == "memory"
    fewer = dataclasses.replace(slow, mma_gflops={}, wgmma_gflops={})
    assert fewer.limit(problem) == "compute"


def test_nothing_passes_the_products_of_zeros():
    assert HOPPER.most_gflops("tf32") == 450_000
    # Split numbers may be of float16, within its range.
    assert HOPPER.most_gflops("ieee") == 300_000
    assert HOPPER.most_gflops("fast") == math.inf
    assert ROOF.most_gflops("tf32") == 480_000
