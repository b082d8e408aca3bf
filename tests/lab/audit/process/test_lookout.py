"""Threads of a vendor's library that only spin, since it was loaded, are waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from rooftile.lab.audit.checks.library import does_the_work
from rooftile.lab.audit.isolation.freezer import Signals
from rooftile.lab.audit.isolation.processes import running_libraries
from rooftile.lab.audit.process import lookout
from rooftile.lab.audit.process.lookout import Lookout
from rooftile.lab.audit.process.symbols import symbols_of

LIBRARY = """
#include <time.h>
#include <unistd.h>

int busy_for(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double end = now.tv_sec + 1e-9 * now.tv_nsec + seconds;
    write(1, ".", 1);
    do {
        for (volatile int i = 0; i < 100000; i++) {}
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec + 1e-9 * now.tv_nsec < end);
    return 0;
}
"""
PROCESS = """
import ctypes, sys
ctypes.CDLL(sys.argv[1]).busy_for(ctypes.c_double(float(sys.argv[2])))
sys.stdin.read()
"""


@dataclass
class Spinning:
    """What a lookout wants of a child, frozen while its code is in a library."""

    pid: int

    def __post_init__(self):
        self.thaws, self._signals = 0, Signals(self.pid)
        self.freeze()

    def freeze(self):
        assert self._signals.freeze(10)

    def thaw(self):
        self.thaws += 1
        self._signals.thaw()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library that a lookout takes for a vendor's, for its name."""
    made = tmp_path_factory.mktemp("library") / "libopenblas_made_up.so"
    compiler = ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(made)]
    try:
        subprocess.run(compiler, input=LIBRARY, text=True, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no compiler of C")
    return made


@pytest.fixture
def spinning(library):
    """``spinning(seconds)``: a frozen process that is in the library, until it ran so long."""
    started = []

    def start(seconds):
        command = [sys.executable, "-c", PROCESS, str(library), str(seconds)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        started.append(subprocess.Popen(command, **pipes))
        assert os.read(started[-1].stdout.fileno(), 1) == b"."
        return Spinning(started[-1].pid)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def is_in_the_library(child):
    """Whether one of several looks sees it there: it asks for the time in between."""
    seen = []
    for _ in range(20):
        seen += running_libraries(child.pid)
        child.thaw()
        time.sleep(0.002)
        child.freeze()
    return any(lookout.FILES.search(name) for name in seen)


def test_a_library_that_spins_is_given_the_time_to_go_to_sleep(spinning):
    child = spinning(0.3)
    found = Lookout(child)
    found.settle()
    assert child.thaws > lookout.QUIET
    assert not is_in_the_library(child)
    assert (found.counts.total(), found.unseen) == (0, "")


def test_one_that_never_sleeps_is_waited_for_no_longer_and_is_seen(spinning, monkeypatch):
    monkeypatch.setattr(lookout, "SETTLES_S", 0.2)
    child = spinning(60)
    start = time.monotonic()
    Lookout(child).settle()
    assert time.monotonic() - start < 30
    assert is_in_the_library(child)


def test_one_that_rests_is_not_waited_for(spinning):
    child = spinning(0)
    child.thaw()
    time.sleep(0.3)
    child.freeze()
    child.thaws = 0
    Lookout(child).settle()
    assert child.thaws == lookout.QUIET


@pytest.mark.parametrize(
    "name",
    [
        "aten::addmm_", "aten::_softmax", "aten::mm.out", "aten::_int_mm", "aten::bmm_out",
        "aten::mkldnn_convolution", "mkldnn::_linear_pointwise", "mkldnn::_convolution_pointwise",
        "quantized::linear", "onednn::qlinear_pointwise", "aten::linalg_multi_dot", "aten::sort_",
        "sm90_xmma_fprop_implicit_gemm_f32", "cublas",
    ],
)  # fmt: skip
def test_operations_that_do_the_work(name):
    assert does_the_work(name, "sort|_softmax_backward_data")


@pytest.mark.parametrize("name", ["aten::add_", "aten::relu", "mine::matmul", "triton_poi_fused"])
def test_operations_that_are_the_kernels_own(name):
    assert not does_the_work(name, None)


def test_a_copy_is_known_by_its_functions(library, tmp_path):
    assert "busy_for" in symbols_of(Path(library)).names
    other = tmp_path / "libmine.so"
    other.write_bytes(b"\x7fELF nothing")
    assert symbols_of(other) is None
