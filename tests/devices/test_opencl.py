from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from rooftile.devices.gpu import Launch
from rooftile.devices.opencl import device as module
from rooftile.errors import UnsupportedProblem

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


class _Nvidia:
    """A device whose kernels take 255 registers unless an option says fewer."""

    def __init__(self, extensions):
        self.extensions, self.registers_per_block_nv = extensions, 65536
        self.description = SimpleNamespace(
            threads_per_block=1024, shared_bytes_per_block=49152, constant_bytes=65536
        )
        self.name, self.options, self.started = "a GPU", [], []
        self._device = self
        self._cl = SimpleNamespace(
            Kernel=lambda program, name: SimpleNamespace(
                get_work_group_info=lambda info, device: 65536 // program // 32 * 32,
                set_args=lambda *arguments: None,
                registers=program,
            ),
            kernel_work_group_info=SimpleNamespace(WORK_GROUP_SIZE=0),
        )

    def build(self, *options):
        self.options += options
        return int(options[0].partition("=")[2]) if options else 255

    def enqueue(self, kernel, launch):
        self.started.append((launch.threads, kernel.registers))


def test_a_kernel_with_too_many_registers_for_a_block_is_built_with_fewer():
    device = _Nvidia("cl_khr_fp64 cl_nv_compiler_options")
    program = module.OpenclProgram(device, device.build)
    for threads in (256, 512, 512, 1024):
        program.launch(Launch("f", (1, 1, 1), (threads, 1, 1)))
    assert device.options == ["-cl-nv-maxrregcount=128", "-cl-nv-maxrregcount=64"]
    assert device.started == [(256, 255), (512, 128), (512, 128), (1024, 64)]


def test_where_registers_cannot_be_spared_the_launch_is_refused():
    device = _Nvidia("cl_khr_fp64")
    program = module.OpenclProgram(device, device.build)
    with pytest.raises(UnsupportedProblem, match="512 threads a block where its registers allow"):
        program.launch(Launch("f", (1, 1, 1), (512, 1, 1)))
