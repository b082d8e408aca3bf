from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from rooftile.runtime.timing.telemetry import Reading, sensors

DEVICE = SimpleNamespace(bus="0000:3B:00.0")


class NvmlError(Exception):
    pass


@pytest.fixture
def nvml(monkeypatch):
    """NVIDIA's management library with one GPU, in place of the installed one."""
    fake = ModuleType("cuda.bindings.nvml")
    fake.NvmlError = NvmlError
    fake.init_v2 = lambda: None
    fake.device_get_handle_by_pci_bus_id_v2 = {"0000:3B:00.0": 7}.__getitem__
    fake.device_get_clock_info = lambda handle, kind: {(7, 1): 1755}[handle, kind]
    fake.device_get_power_usage = lambda handle: 699_500
    fake.device_get_temperature_v = lambda handle, sensor: 71
    fake.device_get_current_clocks_event_reasons = lambda handle: 0x01 | 0x04 | 0x20
    bindings = ModuleType("cuda.bindings")
    bindings.nvml = fake
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvml", fake)
    return fake


def test_sensors_are_read_in_watts_and_words(nvml):
    assert sensors(DEVICE)() == Reading(1755, 699.5, 71, ("power cap", "thermal slowdown"))


def test_an_idle_clock_is_not_throttled(nvml):
    nvml.device_get_current_clocks_event_reasons = lambda handle: 0x01
    assert sensors(DEVICE)().throttled_by == ()


def refused(*_):
    raise NvmlError("no permission")


@pytest.mark.parametrize(
    "function", ["init_v2", "device_get_handle_by_pci_bus_id_v2", "device_get_power_usage"]
)
def test_what_may_not_be_read_gives_no_reading(nvml, function):
    setattr(nvml, function, refused)
    assert sensors(DEVICE)() is None


def test_sensors_that_fail_later_give_no_reading(nvml):
    read = sensors(DEVICE)
    nvml.device_get_clock_info = refused
    assert read() is None


def test_other_devices_have_none(opencl_device):
    assert sensors(opencl_device)() is None
