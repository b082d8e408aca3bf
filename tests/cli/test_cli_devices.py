from __future__ import annotations

import dataclasses
import sys

from rooftile.cli.commands import devices as command
from rooftile.devices import opencl
from rooftile.devices.gpu import Description
from rooftile.errors import DeviceMissing
from rooftile.lab.measure.ceilings import cpu_latencies
from rooftile.lab.measure.ceilings import gpu as ceilings_gpu
from rooftile.lab.measure.ceilings import gpu_kernels as _microbenchmarks_gpu
from rooftile.lab.measure.ceilings.gpu import GpuCeilings
from rooftile.lab.measure.ceilings.microbenchmarks import Latency, Microbenchmarks, StridedRead
from rooftile.lab.measure.records import plain

LATENCIES = Microbenchmarks(
    (Latency("registers", 0, 1.5, 4.0), Latency("memory", 2**20, 100.0, None)),
    (StridedRead(1, 40.0), StridedRead(2, 20.0)),
    2**20,
)
H200 = Description(
    kind="cuda", index=1, name="NVIDIA H200", driver="CUDA 13.0", architecture="sm_90", units=132,
    memory_bytes=141 * 2**30, cache_bytes=60 * 2**20, warp=32, threads_per_block=1024,
    threads_per_unit=2048, shared_bytes_per_block=227 * 2**10, shared_bytes_per_unit=228 * 2**10,
    registers_per_unit=65536, constant_bytes=65536, clock_mhz=1980,
)  # fmt: skip


def _no_opencl(monkeypatch):
    def missing(*_):
        raise DeviceMissing("PyOpenCL", 'pip install "rooftile[opencl]"')

    monkeypatch.setattr(opencl, "find", missing)
    monkeypatch.setattr(opencl, "open_device", missing)


def test_devices_shows_the_cpu_and_what_is_missing(call, known_roof, no_cuda, monkeypatch):
    _no_opencl(monkeypatch)
    code, out, err = call("devices")
    assert code == 0, err
    assert out.startswith("cpu: ")
    assert "200.0" in out
    assert "cuda: not found: a working NVIDIA driver" in out
    assert "opencl: not found: PyOpenCL" in out
    assert 'to install: pip install "rooftile[opencl]"' in out
    assert max(map(len, out.splitlines())) <= 80


def test_slower_calls_are_told(call, call_json, known_roof, no_cuda, monkeypatch):
    _no_opencl(monkeypatch)
    assert call_json("devices")["devices"][0]["compiled_calls"] is True
    monkeypatch.setattr(sys, "abiflags", "t")
    (cpu, *_) = call_json("devices")["devices"]
    assert not cpu["compiled_calls"]
    assert "without the GIL" in cpu["compiled_calls_reason"]
    _, out, _ = call("devices")
    assert cpu["compiled_calls_reason"] in out
    assert max(map(len, out.splitlines())) <= 80


def test_devices_json(call_json, known_roof, no_cuda, opencl_device):
    found = call_json("devices")
    cpu, cuda, first = found["devices"][:3]
    assert (cpu["kind"], cpu["available"]) == ("cpu", True)
    assert (cuda["kind"], cuda["available"], cuda["name"]) == ("cuda", False, None)
    assert "driver" in cuda["reason"]
    assert first["available"]
    for name, value in dataclasses.asdict(opencl_device.description).items():
        assert first[name] == value
    assert found["ceilings"]["all_cores"]["fma_gflops"] == 200
    assert found["environment"]["cores"] >= 1


def test_devices_shows_an_opencl_device(call, known_roof, no_cuda, opencl_device):
    code, out, _ = call("devices")
    assert code == 0
    assert f"opencl:0: {opencl_device.description.name}" in out
    assert f"{opencl_device.description.units} units" in out
    assert max(map(len, out.splitlines())) <= 80


def test_ceilings_of_gpus_are_shown_once_they_were_measured(
    call, call_json, known_roof, no_cuda, opencl_device, monkeypatch, tmp_path
):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(_microbenchmarks_gpu, "SECONDS", 0)
    monkeypatch.setattr(_microbenchmarks_gpu, "BUFFER_BYTES", 2**24)
    monkeypatch.setattr(ceilings_gpu, "HOST_BYTES", 2**20)
    monkeypatch.setattr(cpu_latencies, "measure", lambda: LATENCIES)
    assert "(--measure measures the ceilings of GPUs, and latencies)" in call("devices")[1]
    cpu, _, measured = call_json("devices", "--measure")["devices"][:3]
    assert cpu["microbenchmarks"] == plain(dataclasses.asdict(LATENCIES))
    assert measured["ceilings"]["fma_gflops"] > 0
    shown = call_json("devices")["devices"]
    assert shown[2]["ceilings"] == measured["ceilings"]
    assert shown[1]["ceilings"] is None
    code, out, _ = call("devices")
    assert code == 0
    assert "float32 FMA" in out
    assert ["memory", "1", "MiB", "100", "-"] in map(str.split, out.splitlines())
    assert "1 40, 2 20" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_device_that_is_named_must_be_there(call, known_roof, no_cuda):
    code, out, err = call("devices", "--device", "cuda")
    assert (code, out) == (1, "")
    assert "not found" in err


def test_one_device_that_does_not_open_leaves_the_others(monkeypatch):
    from rooftile.devices import select

    def describe(kind, index):
        if index == 0:
            raise DeviceMissing("GPU cuda:0: it does not open", "nothing")
        return H200

    monkeypatch.setattr(select, "count_gpus", lambda kind: 2)
    monkeypatch.setattr(select, "describe_gpu", describe)
    broken, good = command.gpus_of("cuda")
    assert broken["reason"] == "not found: GPU cuda:0: it does not open"
    assert good is H200


def test_everything_known_of_a_gpu_is_shown():
    assert command.lines_of(H200) == [
        "cuda:1: NVIDIA H200",
        "  132 units, 141 GiB memory, 60 MiB cache, warp of 32, 1980 MHz",
        "  a block: at most 1024 threads, 227 KiB shared memory; constants 64 KiB",
        "  a unit: at most 2048 threads, 228 KiB shared memory, 65536 registers",
        "  CUDA 13.0, sm_90",
    ]


def test_matrix_rates_are_shown_by_instruction():
    roof = GpuCeilings(
        fma_gflops=60e3, read_gbps=4e3, copy_gbps=4e3, mma_gflops={"tf32": 325e3, "fp16": 645e3},
        launch_us=9, replay_us=1, to_device_gbps=20, from_device_gbps=18,
        to_device_pinned_gbps=None, from_device_pinned_gbps=None, clocks=None,
    )  # fmt: skip
    lines = command.ceiling_lines(roof)
    assert "  mma.sync, TFLOP/s: tf32 325, fp16 645" in lines
    assert "wgmma" not in "".join(lines)
    more = {"wgmma_gflops": {"tf32": 420e3}, "wgmma_zeros_gflops": {"tf32": 500e3}}
    lines = command.ceiling_lines(dataclasses.replace(roof, **more))
    assert "  wgmma, TFLOP/s: tf32 420" in lines
    assert "  wgmma of zeros, TFLOP/s: tf32 500" in lines
