from __future__ import annotations

import math
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.devices.gpu import Launch
from rooftile.devices.opencl import device as module
from rooftile.devices.opencl import quiet
from rooftile.errors import UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.garbage import GARBAGE
from tests.support.some_gpu import some_gpu

pytestmark = pytest.mark.usefixtures("plainly_compiled")

TEXT = "__kernel void one(__global float* out) { out[get_global_id(0)] = 1.0f; }"


def _built(device, folder):
    """The files of two texts that a device has built, or found."""
    device._built.cache_clear()
    for number in range(2):
        # What is not used is worth a warning.
        text = TEXT.replace("{ out", f"{{ int unused{number}; out")
        assert device.compile(text, {})._kernel("one")
    return sorted((folder / "opencl").glob("*.bin"))


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_among_binaries_is_built_anew(kind, opencl_device, monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(module, "cache_directory", lambda: tmp_path)
    if opencl_device.description.gpu:
        pytest.skip("the driver keeps binaries itself")
    paths = _built(opencl_device, tmp_path)
    assert len(paths) == 2
    for path in paths:
        GARBAGE[kind](path, paths)
    for _ in range(2):
        assert _built(opencl_device, tmp_path) == paths
    assert capfd.readouterr() == ("", "")


def test_threads_that_launch_the_same_kernel_have_arguments_of_their_own(opencl_device):
    text = """__kernel void fill(__global float* out, int value, int other) {
        out[get_global_id(0)] = value + other;
    }"""
    program = opencl_device.compile(text, {})
    launch = Launch("fill", (16, 1, 1), (16, 1, 1))
    start, wrong = threading.Barrier(4), []

    def work(number):
        memory, out = opencl_device.allocate(4 * 256), np.empty(256, np.float32)
        start.wait()
        for k in range(200):
            program.launch(launch, memory, np.int32(1000 * number), np.int32(k))
            opencl_device.copy_out(memory, out)
            if not (out == 1000 * number + k).all():
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_a_plain_text_is_kept_nowhere_and_has_no_prelude(opencl_device, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "cache_directory", lambda: tmp_path)
    own = TEXT.replace("{ out", "{ float relu = 1.0f; out")
    opencl_device.compile(own, {}, plain=True)
    assert not list(tmp_path.rglob("*"))
    opencl_device.compile(TEXT, {"NEVER_BUILT_BEFORE": 1})
    # NVIDIA's driver keeps binaries itself.
    assert opencl_device.description.gpu or list(tmp_path.rglob("*.bin"))


def test_compilers_words_are_unheard_until_the_last_thread_has_left():
    unheard, before = quiet.Unheard(), warnings.filters[:]
    one, other = unheard(UserWarning), unheard(UserWarning)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    warnings.warn("of success", UserWarning, stacklevel=1)  # It would be an error here.
    other.__exit__(None, None, None)
    assert warnings.filters == before
    with pytest.raises(UserWarning), unheard(DeprecationWarning):
        warnings.warn("of something else", UserWarning, stacklevel=1)
    assert warnings.filters == before


class _Refused(Exception):
    code = -54


class _Register:
    """A device whose kernels take 255 registers unless they are built for a block."""

    def __init__(self, least):
        self.least, self.options, self.started = least, [], []
        self.description = some_gpu("sm_80").description
        self._device = self
        self._cl = SimpleNamespace(
            Kernel=lambda registers, name: SimpleNamespace(
                get_work_group_info=lambda info, device: 65536 // registers // 32 * 32,
                set_args=lambda *arguments: None,
                registers=registers,
            ),
            kernel_work_group_info=SimpleNamespace(WORK_GROUP_SIZE=0),
            Error=_Refused,
            status_code=SimpleNamespace(INVALID_WORK_GROUP_SIZE=-54),
        )

    def build(self, *options):
        self.options += options
        if not options:
            return 255
        threads = math.prod(int(n) for n in options[0].partition("=")[2].split(","))
        return max(self.least, 65536 // threads)

    def enqueue(self, kernel, launch):
        if launch.threads * kernel.registers > 65536:
            raise _Refused
        self.started.append((launch.block, kernel.registers))


def test_a_kernel_with_too_many_registers_is_built_for_its_blocks():
    device = _Register(16)
    program = module.OpenclProgram(device, device.build)
    blocks = ((256, 1, 1), (32, 16, 1), (32, 16, 1), (16, 16, 1), (64, 16, 1))
    for block in blocks:
        program.launch(Launch("f", (1, 1, 1), block))
    assert device.options == ["-DGROUP_SIZE=32,16,1", "-DGROUP_SIZE=64,16,1"]
    assert device.started == list(zip(blocks, (255, 128, 128, 255, 64), strict=True))


def test_where_registers_cannot_be_spared_the_launch_is_refused():
    device = _Register(200)
    program = module.OpenclProgram(device, device.build)
    with pytest.raises(UnsupportedProblem, match="registers do not allow 512 threads"):
        program.launch(Launch("f", (1, 1, 1), (512, 1, 1)))


@pytest.mark.parametrize("name", ["tile_output", "row_local", "winograd"])
def test_texts_build_for_the_blocks_that_they_are_launched_with(name, opencl_device, monkeypatch):
    monkeypatch.setattr(module.OpenclProgram, "_most_threads", lambda program, kernel: 0)
    rung = strategy("conv2d", name, "opencl")
    problem = Conv2d(2, 3, 12, 21, 5, (3, 3), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = random_inputs(problem, 0)
    out = np.full(problem.output_shape, np.nan, np.float32)
    rung.bind(problem, parameters, opencl_device)(x, out)
    assert Expected(problem, x, *parameters).judge(out, rung.precision).passed
