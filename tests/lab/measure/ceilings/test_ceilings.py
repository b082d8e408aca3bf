from __future__ import annotations

import dataclasses
import json
import os

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.devices.cpu.native.vector import lanes
from rooftile.lab.measure.ceilings import cpu as lab
from rooftile.lab.measure.ceilings import cpu_kernels as benchmarks
from rooftile.ops import Linear

LOW = lab.Rates(threads=2, fma_gflops=100.0, read_gbps=10.0, copy_gbps=20.0, stream_copy_gbps=5.0)
HIGH = dataclasses.replace(LOW, fma_gflops=200.0, copy_gbps=10.0)


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """What is measured next, with a cache of its own; counts the measurements."""
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    found = [lab.Ceilings(LOW, LOW, undisturbed=True)]
    calls = []
    monkeypatch.setattr(lab, "measure_ceilings", lambda progress=None: calls.append(1) or found[0])
    return found, calls


def test_they_are_measured_once(measured):
    _, calls = measured
    first = lab.ceilings()
    assert lab.ceilings() == first == lab.Ceilings(LOW, LOW, undisturbed=True)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "text", ["", "{", '{"one_core": {}}', '{"one_core": {"threads": 2}}', "[]", "3", "null"]
)
def test_an_unreadable_cache_is_measured_anew(measured, text):
    path = lab.cpu_file()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert lab.ceilings().all_cores == LOW
    assert json.loads(path.read_text())["all_cores"]["fma_gflops"] == 100


def test_refresh_keeps_the_higher_of_each_rate(measured):
    found, calls = measured
    lab.ceilings()
    found[0] = lab.Ceilings(HIGH, HIGH, undisturbed=True)
    again = lab.ceilings(refresh=True)
    assert len(calls) == 2
    assert again.all_cores == dataclasses.replace(LOW, fma_gflops=200.0)
    assert lab.ceilings() == again


def test_disturbed_rates_are_measured_anew_after_an_hour(measured):
    found, calls = measured
    found[0] = lab.Ceilings(LOW, LOW, undisturbed=False)
    lab.ceilings()
    lab.ceilings()
    assert len(calls) == 1
    path = lab.cpu_file()
    old = path.stat().st_mtime - 4000
    os.utime(path, (old, old))
    lab.ceilings()
    assert len(calls) == 2


def test_a_cache_that_cannot_be_written_is_no_error(measured, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ROOFTILE_CACHE", str(blocked))
    assert lab.ceilings().all_cores == LOW


def test_the_floor_is_the_tighter_of_compute_and_memory():
    many = Linear(1000, 1000, 1000)
    assert LOW.limit(many) == "compute"
    assert LOW.floor_ms(many) == pytest.approx(2e9 / 100e9 * 1e3)
    one = Linear(1, 1000, 1000)
    assert LOW.limit(one) == "memory"
    assert LOW.floor_ms(one) == pytest.approx(one.bytes / 20e9 * 1e3)


def _run(kernel, x, out, units):
    benchmarks.bind(kernel, [x], [out], units, threads=1)()


def test_the_fma_kernel_does_all_its_fmas():
    x = np.zeros(benchmarks.CHAINS + lanes(), np.float32)
    x[0], x[1] = 1, 2.0**-10  # each chain counts its steps
    out = np.zeros(2 * lanes(), np.float32)
    _run(benchmarks.kernels()["fma"], x, out, 2)
    steps = out[-1] / 2.0**-10
    assert steps == pytest.approx(benchmarks.CHAINS * benchmarks.STEPS, rel=1e-3)
    assert out.min() > 0


def test_the_memory_kernels_touch_every_element():
    count = 2 * benchmarks.BLOCK
    x = cpu.allocate(count)
    x[:] = np.arange(count) % 251
    sums = np.zeros(2 * lanes(), np.float32)
    _run(benchmarks.kernels()["read"], x, sums, 2)
    assert sums.sum() == x.sum()
    for name in ("copy", "stream"):
        out = cpu.allocate(count)
        out.fill(-1)
        _run(benchmarks.kernels()[name], x, out, 2)
        assert np.array_equal(out, x)


def test_rates_are_positive(monkeypatch):
    monkeypatch.setattr(benchmarks, "WINDOWS", (4, 2))
    rates = [
        benchmarks.fma_rate(1, 0.01),
        benchmarks.read_rate(2**20, 1, 0.01),
        benchmarks.copy_rate(2**20, cpu.cores(), 0.01, streaming=False),
        benchmarks.copy_rate(2**20, cpu.cores(), 0.01, streaming=True),
    ]
    assert all(rate.value > 0 for rate in rates)


def test_windows_cover_the_buffer():
    buffer = np.arange(13 * benchmarks.BLOCK, dtype=np.float32)
    windows = benchmarks.windows(buffer, 4)
    assert np.array_equal(np.concatenate(windows), buffer[: 12 * benchmarks.BLOCK])


def test_shorter_calls_where_longer_ones_were_disturbed():
    rates = {64: benchmarks.Rate(100, False), 8: benchmarks.Rate(90, True)}
    asked = []
    best = benchmarks.first_undisturbed(lambda size: asked.append(size) or rates[size], (64, 8))
    assert (best.value, asked) == (100, [64, 8])
    rates[64] = benchmarks.Rate(100, True)
    asked.clear()
    benchmarks.first_undisturbed(lambda size: asked.append(size) or rates[size], (64, 8))
    assert asked == [64]
