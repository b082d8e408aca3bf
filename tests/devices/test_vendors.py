"""Which OpenCL drivers are announced, and which are passed over."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from rooftile.devices.opencl import device as module
from rooftile.devices.opencl import vendors
from rooftile.errors import DeviceMissing

POCL = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-"


def fake(name, platform, version, kind=2):
    return SimpleNamespace(
        name=name, version=version, type=kind,
        platform=SimpleNamespace(name=platform, version="OpenCL 3.0"),
    )  # fmt: skip


OLD = fake("pthread-EPYC", "Portable Computing Language", POCL + "generic")
KNOWN = fake("pthread-EPYC", "Portable Computing Language", POCL + "znver3")
OTHER = fake("a CPU", "Another", "OpenCL 3.0 of x86_64-unknown-linux-gnu-generic")


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """Intel's runtime as its wheel lays it out, a system driver, a cache of the test's own."""
    library = tmp_path / "lib" / "libintelocl.so"
    library.parent.mkdir()
    library.touch()
    file = SimpleNamespace(name=library.name, locate=lambda: library)
    monkeypatch.setattr(importlib.metadata, "files", lambda name: [file])
    system = tmp_path / "system"
    system.mkdir()
    (system / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    monkeypatch.setattr(vendors, "SYSTEM", system)
    monkeypatch.setattr(vendors, "cache_directory", lambda: tmp_path / "cache")
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    return library


def test_the_wheels_runtime_stands_beside_the_systems_drivers(wheel):
    for _ in range(2):
        vendors.announce_wheels()
        folder = Path(os.environ.pop("OCL_ICD_VENDORS"))
        texts = {file.name: file.read_text() for file in folder.iterdir()}
        assert texts == {
            "intel-wheel.icd": f"{wheel.resolve()}\n", "nvidia.icd": "libnvidia-opencl.so.1\n",
        }  # fmt: skip


def test_the_users_own_folder_stays(wheel, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "/mine")
    vendors.announce_wheels()
    assert os.environ["OCL_ICD_VENDORS"] == "/mine"


def test_without_the_wheel_nothing_is_announced(wheel):
    wheel.unlink()
    vendors.announce_wheels()
    assert "OCL_ICD_VENDORS" not in os.environ


@pytest.fixture
def probed(monkeypatch):
    """Which devices of PoCL the probe finds right: those that a test names."""
    right = []
    monkeypatch.setattr(vendors, "compiles_right", lambda cl, device: device in right)
    return right


def test_pocl_that_does_not_know_the_processor_is_passed_over(monkeypatch, probed):
    assert [vendors.knows_no_processor(d) for d in (OLD, KNOWN, OTHER)] == [True, False, False]
    monkeypatch.setattr(module, "_all_devices", lambda: [OLD, OTHER])
    assert module.find() == [OTHER]
    assert ["pthread-EPYC" in str(error) for error in module.passed_over()] == [True]


def test_pocl_that_compiles_wrong_is_passed_over_with_its_release(monkeypatch, probed):
    monkeypatch.setattr(module, "_all_devices", lambda: [KNOWN, OTHER])
    assert module.find() == [OTHER]
    (error,) = module.passed_over()
    assert "Portable Computing Language's release OpenCL 3.0" in str(error)
    assert "write beyond their arrays" in str(error)
    assert "intel-opencl-rt" in error.install
    probed.append(KNOWN)
    assert module.find() == [KNOWN, OTHER]
    assert module.passed_over() == []


def test_nothing_but_that_is_an_error_with_a_way_out(monkeypatch, probed):
    for only, words in ((OLD, "knows pthread-EPYC"), (KNOWN, "right for pthread-EPYC")):
        monkeypatch.setattr(module, "_all_devices", lambda only=only: [only])
        with pytest.raises(DeviceMissing, match=words) as caught:
            module.find()
        assert "intel-opencl-rt" in caught.value.install
