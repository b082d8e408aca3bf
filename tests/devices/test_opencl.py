from __future__ import annotations

import os

from rooftile.devices.opencl import device as module

TEXT = "__kernel void one(__global float* out) { out[get_global_id(0)] = 1.0f; }"


def test_a_lock_that_a_killed_process_left_is_broken(opencl_device, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "cache_directory", lambda: tmp_path)
    lock = tmp_path / "opencl" / "lock"
    lock.parent.mkdir()
    lock.touch()
    os.utime(lock, (1, 1))
    # PyOpenCL would warn after ten seconds, and a warning is an error here.
    opencl_device.compile(TEXT, {})
    assert not lock.exists()


def test_a_plain_text_is_kept_nowhere_and_has_no_prelude(opencl_device, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "cache_directory", lambda: tmp_path)
    own = TEXT.replace("{ out", "{ float relu = 1.0f; out")
    opencl_device.compile(own, {}, plain=True)
    assert not list(tmp_path.rglob("*"))
    opencl_device.compile(TEXT, {})
    # NVIDIA's driver keeps binaries itself.
    assert opencl_device.description.gpu or list(tmp_path.rglob("binary"))
