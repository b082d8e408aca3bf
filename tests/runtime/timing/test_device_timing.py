"""The GPU's timer on clocks that tests set, and on whichever OpenCL device there is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.devices.gpu import Launch
from rooftile.runtime.timing import device as lab
from rooftile.runtime.timing.telemetry import Clocks, Reading


class Device:
    """A device whose clock, and the host's, tests move."""

    def __init__(self, monkeypatch):
        self.host = self.device = 0.0
        self.log = []
        monkeypatch.setattr(lab.time, "perf_counter", lambda: self.host)
        monkeypatch.setattr(lab, "WARM_UP_S", 0)

    def mark(self):
        return self.device

    def between(self, before, after):
        return 1e3 * (after - before)

    def synchronise(self):
        self.log.append("idle")

    def run(self, name, host, device=None):
        """A call that takes so many seconds by each of the clocks."""

        def call():
            self.log.append(name)
            self.host += host
            self.device += host if device is None else device

        return call

    def work(self, host, device=None, count=4):
        once, many = self.run("once", host, device), self.run("many", count * host,
                              None if device is None else count * device)  # fmt: skip
        return lab.TimedLaunches(self, once, many, count, self.run("flush", 1e-3), 2e-4)


@pytest.fixture
def device(monkeypatch):
    return Device(monkeypatch)


def test_a_warm_sample_is_the_mean_of_a_replay(device):
    timing = lab.in_turns({"a": device.work(3e-4)})["a"]
    assert timing.warm.median == pytest.approx(0.3)
    assert timing.cold.median == pytest.approx(0.3)
    assert timing.contradiction == ""
    assert timing.warm.n == timing.cold.n == lab.LEAST_SAMPLES
    assert timing.warm.steady


def test_cold_samples_follow_a_flush_outside_the_marks(device):
    lab.in_turns({"a": device.work(3e-4)})
    first = device.log.index("flush")
    assert device.log[first - 1 : first + 3] == ["idle", "flush", "once", "idle"]
    assert device.log[first - 4 : first - 1] == ["many", "many", "idle"]


def test_long_work_has_no_untimed_replay(device):
    lab.in_turns({"a": device.work(1.0, count=1)})
    assert device.log.count("many") == 1 + lab.LEAST


def test_contestants_take_turns(device):
    works = {name: device.work(1.0, count=1) for name in "ab"}
    for name, work in works.items():
        works[name] = dataclasses.replace(work, many=device.run(name, 1.0))
    lab.in_turns(works)
    turns = [name for name in device.log if name in "ab"]
    assert turns == ["a", "a", "b", "b"] + ["a", "b"] * (lab.LEAST - 1)


def test_an_asynchronous_launch_is_no_time(device):
    timing = lab.in_turns({"a": device.work(host=1e-3, device=3e-6)})["a"]
    assert "longer than its stream's marks" in timing.contradiction


def test_marks_further_apart_than_the_host_saw_are_no_time(device):
    timing = lab.in_turns({"a": device.work(host=1e-3, device=2e-3)})["a"]
    assert "further apart than the host saw" in timing.contradiction


def test_a_disturbed_host_is_no_contradiction(device):
    disturbed = iter([0.5, 0, 0.5] + [0] * 1000)
    work = device.work(3e-4)

    def many():
        work.many()
        device.host += next(disturbed)

    timing = lab.in_turns({"a": dataclasses.replace(work, many=many)})["a"]
    assert timing.contradiction == ""


def test_noise_is_said(device):
    times = iter(np.tile([1.0, 2.0, 3.0, 4.0], 1000))
    work = dataclasses.replace(
        device.work(1e-3, count=1), many=lambda: device.run("many", 1e-3 * next(times))()
    )
    timing = lab.in_turns({"a": work}, seconds=1.0)["a"]
    assert not timing.warm.steady
    assert timing.warm.n > lab.LEAST_SAMPLES


def test_throttled_samples_count_and_are_reported(device):
    readings = iter([Reading(1980, 300, 50, ()), Reading(1400, 700, 80, ("power cap",))] * 100)
    timing = lab.in_turns({"a": device.work(3e-4)}, read=lambda: next(readings))["a"]
    clocks = timing.clocks
    assert (clocks.sm_mhz_min, clocks.power_w, clocks.temperature_c) == (1400, 700, 80)
    assert (clocks.readings, clocks.throttled) == (20, 10)
    assert clocks.note() == "throttled in 10 of 20 readings (power cap)"
    assert timing.warm.n == 20


def test_no_sensor_no_clocks():
    assert Clocks.of([]) is None
    assert Clocks.of([Reading(1980, 300, 50, ())]).note() == ""


@pytest.mark.parametrize(("seconds", "count"), [(1.0, 1), (4e-4, 3), (5e-6, 200), (0.0, 200)])
def test_short_launches_share_a_sample(seconds, count):
    assert lab.launches(seconds) == count


def test_work_on_a_device(opencl_device):
    program = opencl_device.compile(
        "__global__ void add(GLOBAL float* x) { x[0] += 1.0f; }", {"THREADS": 1}
    )
    x = opencl_device.upload(np.zeros(1, np.float32))
    launch = Launch("add", (1, 1, 1), (1, 1, 1))
    program.launch(launch, x)
    work = lab.work_of(opencl_device, lambda: program.launch(launch, x), lab.Flush(opencl_device))

    def count(call):
        opencl_device.copy_in(np.zeros(1, np.float32), x)
        call()
        out = np.empty(1, np.float32)
        opencl_device.copy_out(x, out)
        return out[0]

    assert count(work.once) == 1
    assert count(work.many) == work.count >= 1
    work.flush()
    assert count(work.once) == 1


def test_a_flush_overwrites_twice_the_cache(opencl_device):
    flush = lab.Flush(opencl_device)
    flush()
    cache = opencl_device.description.cache_bytes or lab.CACHE_BYTES
    out = np.zeros(2 * cache // 4, np.float32)
    opencl_device.copy_out(flush._buffer, out)
    assert (out.reshape(-1, 4) == (1, 2, 3, 4)).all()
