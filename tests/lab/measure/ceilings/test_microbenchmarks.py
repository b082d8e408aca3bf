"""Latencies: chains are one cycle, walks go along them, and what was measured is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices.cpu.native.vector import lanes
from rooftile.devices.gpu import Launch
from rooftile.lab.measure.ceilings import cpu_latencies, gpu_kernels, gpu_latencies
from rooftile.lab.measure.ceilings.microbenchmarks import (
    STRIDES,
    Latency,
    Microbenchmarks,
    StridedRead,
    one_cycle,
    path_beside,
    read_microbenchmarks,
)

KNOWN = Microbenchmarks(
    (Latency("registers", 0, 1.5, 4.0), Latency("memory", 2**20, 100.0, None)),
    (StridedRead(1, 40.0), StridedRead(2, 20.0)),
    2**20,
)


@pytest.fixture(autouse=True)
def little(monkeypatch, tmp_path):
    """A cache of its own, and measurements that take no time."""
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(gpu_kernels, "SECONDS", 0)
    monkeypatch.setattr(gpu_kernels, "BUFFER_BYTES", 2**24)
    monkeypatch.setattr(cpu_latencies, "SECONDS", 1e-3)
    monkeypatch.setattr(cpu_latencies, "BUFFER_BYTES", 2**20)
    monkeypatch.setattr(cpu_latencies, "cache_sizes", lambda: {1: 2**12, 2: 2**13, 3: 2**15})


def walked(following, start, steps):
    for _ in range(steps):
        start = following[start]
    return start


@settings(max_examples=20)
@given(count=st.integers(1, 300), seed=st.integers(0, 9))
def test_a_chain_is_one_cycle(count, seed):
    following = one_cycle(count, seed)
    seen, at = set(), 0
    while at not in seen:
        seen.add(at)
        at = following[at]
    assert (at, len(seen)) == (0, count)


@pytest.mark.parametrize("kernel", ["walk_global", "walk_shared", "walk_constant"])
def test_a_gpu_walks_along_the_chain(device, kernel):
    count, warm, steps = gpu_latencies.CONSTANT_BYTES // 4, 5, 48
    walker, following = gpu_latencies.Walker(device), one_cycle(count)
    step, base = 4, 0
    place, ticks = device.upload(np.zeros(1, np.int64)), device.upload(np.full(1, -1, np.int64))
    counts = np.int32(warm), np.int32(steps)
    if kernel == "walk_global":
        chain, base = walker.chain(count)
        step = gpu_latencies.LINE
        device.copy_in(np.array([base]), place)
        walker.program.launch(gpu_latencies._alone(kernel), chain, place, ticks, *counts)
    elif kernel == "walk_shared":
        chain = device.upload(4 * following.astype(np.uint32))
        launch = gpu_latencies._alone(kernel, shared_bytes=4 * count)
        walker.program.launch(launch, chain, place, ticks, *counts, np.int32(count))
    else:
        bits = (4 * following.astype(np.uint32)).view(np.float32)
        walker.program.set_constant("held", bits)
        launch = gpu_latencies._alone(kernel, constants=("held",))
        walker.program.launch(launch, place, ticks, *counts)
    found, counted = np.zeros(1, np.int64), np.zeros(1, np.int64)
    device.copy_out(place, found)
    device.copy_out(ticks, counted)
    assert (found[0] - base) // step == walked(following, 0, warm + steps)
    assert counted[0] > 0 if device.kind == "cuda" else counted[0] == 0


def test_a_gpu_chains_multiply_adds_and_reads_what_it_says(device):
    walker = gpu_latencies.Walker(device)
    out, ticks = device.upload(np.zeros(1, np.float32)), device.upload(np.zeros(1, np.int64))
    x = device.upload(np.array([3.0, 1.0, 2.0], np.float32))
    launch = gpu_latencies._alone("walk_registers")
    walker.program.launch(launch, x, out, ticks, np.int32(64))
    made = np.zeros(1, np.float32)
    device.copy_out(out, made)
    assert made[0] == 3 + 64 * 2
    # Its sum is negative only where every element that it is to read, and no other, was read.
    elements, stride = gpu_latencies.THREADS * gpu_latencies.LOADS, 4
    values = np.full(elements * stride, 1e3, np.float32)
    values[::stride] = -1
    launch = Launch("read_strided", (1, 1, 1), (gpu_latencies.THREADS, 1, 1))
    device.copy_in(np.zeros(1, np.float32), out)
    walker.program.launch(launch, device.upload(values), out, np.int32(stride))
    device.copy_out(out, made)
    assert made[0] == -gpu_latencies.LOADS


def test_every_level_of_a_gpu_is_measured(device):
    found = gpu_latencies.measure(device)
    levels = ["registers", "constant", "shared", "L1", "L2", "memory"]
    assert [one.level for one in found.latencies] == levels
    assert [one.stride for one in found.strided_reads] == list(STRIDES)
    assert all(math.isfinite(one.ns) for one in found.latencies)
    assert all(one.gbps > 0 for one in found.strided_reads)
    counted = [one.cycles for one in found.latencies]
    if device.kind == "cuda":
        assert min(counted) > 0
    else:
        assert counted == [None] * len(counted)


def test_a_device_that_is_no_gpu_has_none(opencl_device):
    if not opencl_device.description.gpu:
        assert gpu_latencies.gpu_microbenchmarks(opencl_device) is None


def test_the_processor_walks_along_the_chain():
    chain = np.zeros(8 * 50, np.int64)
    walk = cpu_latencies.walker(chain)
    following, at = one_cycle(50), 0
    for steps in (1, 7, 60):
        walk(steps)
        at = walked(following, at, steps)
    arrays = cpu_latencies._kernels()["walk"]
    place = np.array([8 * at], np.int64)
    cpu_latencies._walk(arrays, [chain, place])(3)
    assert place[0] == 8 * walked(following, at, 3)


def test_the_processor_s_chains_take_every_step():
    kernels = cpu_latencies._kernels()
    out = np.zeros(lanes(), np.float32)
    numbers = np.array([3.0, 1.0, 2.0], np.float32)
    cpu_latencies._walk(kernels["multiply_add"], [numbers, out])(100)
    assert out.tolist() == [203.0] * lanes()
    numbers, out = np.array([1, 5, 3]), np.zeros(1, np.int64)
    cpu_latencies._walk(kernels["add_and_xor"], [numbers, out])(100)
    expected = 1
    for _ in range(100):
        expected = (expected + 5) ^ 3
    assert out[0] == expected


def test_every_level_of_the_processor_is_measured():
    found = cpu_latencies.measure()
    assert [one.level for one in found.latencies] == ["registers", "L1", "L2", "L3", "memory"]
    footprints = [one.footprint_bytes for one in found.latencies]
    assert footprints == sorted(set(footprints))
    assert all(one.ns > 0 for one in found.latencies)
    assert all(one.cycles > 0 for one in found.latencies)
    assert [one.stride for one in found.strided_reads] == list(STRIDES)
    assert found.strided_bytes == footprints[-1]


def test_the_caches_of_this_processor(monkeypatch):
    monkeypatch.undo()
    caches = cpu_latencies.cache_sizes()
    footprints = cpu_latencies.footprints_of(caches)
    assert footprints["L1"] < caches[1] <= footprints["L2"] < caches[2] <= footprints["L3"]
    assert footprints["memory"] > max(caches.values())


def test_what_was_measured_is_kept(monkeypatch):
    measured = []
    monkeypatch.setattr(cpu_latencies, "measure", lambda: measured.append(1) or KNOWN)
    assert cpu_latencies.known_cpu_microbenchmarks() is None
    lines = []
    assert cpu_latencies.cpu_microbenchmarks(progress=lines.append) == KNOWN
    assert cpu_latencies.cpu_microbenchmarks() == KNOWN
    assert cpu_latencies.known_cpu_microbenchmarks() == KNOWN
    assert (len(measured), len(lines)) == (1, 1)
    cpu_latencies.cpu_microbenchmarks(refresh=True)
    assert len(measured) == 2
    assert KNOWN.latency("memory").ns == 100
    assert KNOWN.latency("L1") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"latencies": [{"level": "L1"}]}'])
def test_what_cannot_be_read_is_not_known(tmp_path, text):
    path = path_beside(tmp_path / "kept.json")
    path.write_text(text)
    assert read_microbenchmarks(path) is None
