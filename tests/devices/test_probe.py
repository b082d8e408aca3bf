"""The kernel that tells which releases of PoCL compile wrong."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rooftile._files import keep_sealed, sealed
from rooftile.devices.opencl import device as module
from rooftile.devices.opencl import probe
from tests.support.garbage import GARBAGE

pyopencl = pytest.importorskip("pyopencl")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Verdicts of the test's own, in memory and in the cache."""
    monkeypatch.setattr(probe, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(probe, "known", {})
    return tmp_path / "opencl"


def test_a_compiler_that_is_right_passes_and_one_that_loses_the_bound_does_not(
    own, opencl_device, monkeypatch
):
    used = opencl_device._device
    assert probe.compiles_right(pyopencl, used)
    monkeypatch.setattr(probe, "TEXT", probe.TEXT.replace("if (place < bound) out", "out"))
    assert not probe.compiles_right(pyopencl, used)
    assert sorted(map(sealed, own.glob("probe-*.txt"))) == [b"right", b"wrong"]


def test_a_verdict_is_kept_and_garbage_is_no_verdict(own, monkeypatch):
    asked = []
    monkeypatch.setattr(probe, "_runs_right", lambda cl, device: bool(asked.append(device)))
    release = SimpleNamespace(
        platform=SimpleNamespace(version="PoCL 9"), version="a CPU", driver_version="9"
    )
    assert not probe.compiles_right(pyopencl, release)
    probe.known.clear()
    assert not probe.compiles_right(pyopencl, release)
    assert len(asked) == 1
    (file,) = own.glob("probe-*.txt")
    for spoil in GARBAGE.values():
        spoil(file, [file])
        probe.known.clear()
        assert not probe.compiles_right(pyopencl, release)
        if file.is_dir():
            file.rmdir()
            keep_sealed(file, b"wrong")
        assert sealed(file) == b"wrong"


def test_no_device_that_is_used_is_of_a_release_that_compiles_wrong():
    """Where PoCL 3.0 is installed, it is passed over by name."""
    named = [one for one in module._all_devices() if "PoCL 3.0" in one.platform.version]
    if not named:
        pytest.skip("PoCL 3.0 is not installed")
    assert not set(named) & set(module.find())
    assert any("PoCL 3.0" in str(error) for error in module.passed_over())
