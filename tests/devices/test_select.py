"""Names of devices, and what is said where none is found."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

from rooftile.devices import opencl, select
from rooftile.errors import DeviceMissing, InputError


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cpu", ("cpu", 0)), ("cuda", ("cuda", 0)), ("cuda:3", ("cuda", 3)),
     ("opencl:0", ("opencl", 0))],
)  # fmt: skip
def test_names(name, expected):
    assert select.parse_device(name) == expected


@pytest.mark.parametrize(
    "name", ["", "gpu", "CUDA", "cpu:0", "cuda:", "cuda:-1", "cuda:1:2", "cuda:²", "opencl:a", 0,
             None]
)  # fmt: skip
def test_bad_names(name):
    with pytest.raises(InputError) as caught:
        select.parse_device(name)
    assert caught.value.argument == "device"


def test_the_cpu_is_no_gpu():
    with pytest.raises(InputError, match="cuda"):
        select.open_gpu("cpu")


def test_an_opencl_device_is_described(opencl_device):
    assert select.count_gpus("opencl") >= 1
    found = select.describe_gpu("opencl", 0)
    assert found == opencl_device.description
    assert found.name
    assert found.driver
    numbers = [v for v in dataclasses.asdict(found).values() if type(v) is int]
    assert all(number >= 0 for number in numbers)
    assert min(found.units, found.memory_bytes, found.threads_per_block) > 0


def test_a_number_beyond_the_last_says_what_there_is(opencl_device):
    with pytest.raises(InputError, match="opencl:0 to opencl:"):
        select.open_gpu("opencl:99")


def test_a_device_that_does_not_open_is_missing(opencl_device, monkeypatch):
    import pyopencl

    def refuse(device, index):
        raise pyopencl.RuntimeError("out of resources")

    monkeypatch.setattr(opencl.device, "OpenclDevice", refuse)
    with pytest.raises(DeviceMissing, match="does not open"):
        opencl.device.open_device.__wrapped__(0)


@pytest.mark.parametrize("name", ["missing.icd", "broken.icd"])
def test_no_working_opencl_driver_says_what_to_install(tmp_path, name):
    pytest.importorskip("pyopencl")
    (tmp_path / "broken.icd").write_text("libno_such_driver.so\n", encoding="ascii")
    script = "from rooftile.devices.opencl import find; find()"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "OCL_ICD_VENDORS": str(tmp_path / name)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "DeviceMissing: not found: an OpenCL driver" in run.stderr
    assert 'pip install "pyopencl' in run.stderr
