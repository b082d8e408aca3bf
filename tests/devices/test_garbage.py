"""Caches with garbage in them: what was kept is made anew, and nothing is said."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from rooftile.devices.cpu.native import build
from rooftile.devices.cuda import compile as compiling
from rooftile.devices.cuda.compile import compile_cubin
from tests.support.garbage import GARBAGE

CALLS = """
import numpy as np
import rooftile
x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 2), np.float32)
for _ in range(3):
    assert (rooftile.matmul(x, y) == x @ y).all()
    assert np.allclose(rooftile.softmax(x).sum(1), 1)
"""


def called(cache):
    given = {"ROOFTILE_CACHE": str(cache), "ROOFTILE_QUIET": ""}
    command = [sys.executable, "-c", CALLS]
    done = subprocess.run(command, env=os.environ | given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_process_finds_garbage_in_every_file(tmp_path):
    assert called(tmp_path).count("rooftile compiles code") == 1
    paths = sorted((tmp_path / "kernels").iterdir())
    assert {path.name.partition("-")[0] for path in paths} >= {"processor", "quick", "team"}
    for number, path in enumerate(paths):
        list(GARBAGE.values())[number % len(GARBAGE)](path, paths)
    assert called(tmp_path) == ""


@pytest.mark.parametrize("kind", GARBAGE)
def test_kernels_of_the_cpu(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    texts = [f"define i64 @one() {{ ret i64 {number} }}" for number in range(2)]

    def found():
        places = [build.addresses("one", text, lambda text=text: text, ["one"]) for text in texts]
        return [ctypes.CFUNCTYPE(ctypes.c_int64)(place)() for (place,) in places]

    assert found() == [0, 1]
    paths = sorted((tmp_path / "kernels").glob("*.o"))
    assert len(paths) == 2
    for path in paths:
        GARBAGE[kind](path, paths)
    assert found() == [0, 1]
    if kind != "a directory":
        monkeypatch.setattr(build, "compiled", lambda *_: pytest.fail("compiled again"))
        assert found() == [0, 1]


@pytest.mark.parametrize("kind", GARBAGE)
def test_the_processors_name(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    told = build.this_processor()
    (path,) = (tmp_path / "kernels").iterdir()
    GARBAGE[kind](path, [path])
    assert build.this_processor() == told
    assert build.this_processor() == told


@pytest.mark.parametrize("kind", GARBAGE)
def test_machine_code_for_cuda(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(compiling, "compiled_text", lambda source, *_: source.encode())
    texts = [f"__global__ void k{number}() {{}}" for number in range(2)]
    codes = [compile_cubin(text, {}, "sm_90a") for text in texts]
    paths = sorted((tmp_path / "cuda").iterdir())
    assert len(paths) == 2
    for path in paths:
        GARBAGE[kind](path, paths)
    assert [compile_cubin(text, {}, "sm_90a") for text in texts] == codes
    if kind != "a directory":
        monkeypatch.setattr(compiling, "compiled_text", lambda *_: pytest.fail("compiled again"))
        assert [compile_cubin(text, {}, "sm_90a") for text in texts] == codes
