"""Texts are compiled once, by whichever thread comes first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rooftile.devices.cuda import compile as compiling
from rooftile.errors import CompileFailure

TEXT = "__global__ void one(float* out) { out[0] = 1.0f; }"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))


def test_threads_that_want_the_same_text_wait_for_one_of_them(cache, monkeypatch):
    sources, begun, go = [], threading.Event(), threading.Event()

    def compiled(source, *_):
        sources.append(source)
        begun.set()
        assert go.wait(10)
        return b"code"

    monkeypatch.setattr(compiling, "compiled_text", compiled)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(compiling.compile_cubin, TEXT, {"A": 1}, "sm_90a")
        assert begun.wait(10)
        second = pool.submit(compiling.compile_cubin, TEXT, {"A": 1}, "sm_90a")
        go.set()
        assert first.result(10) == second.result(10) == b"code"
    assert len(sources) == 1
    assert compiling.compile_cubin(TEXT, {"A": 2}, "sm_90a") == b"code"
    assert len(sources) == 2


def test_a_process_knows_whether_it_compiled(cache, monkeypatch):
    monkeypatch.setattr(compiling, "compiled_text", lambda *_: b"code")
    for found in (True, False):
        monkeypatch.setattr(compiling, "turns", {})
        assert not compiling.has_compiled()
        compiling.compile_cubin(TEXT, {"A": 3}, "sm_90a")
        assert compiling.has_compiled() == found


def test_where_one_failed_the_next_one_tries(cache, monkeypatch):
    tries = []

    def compiled(*_):
        tries.append(1)
        if len(tries) == 1:
            raise CompileFailure("CUDA text for sm_90a", "wrong", "kept.cu")
        return b"code"

    monkeypatch.setattr(compiling, "compiled_text", compiled)
    with pytest.raises(CompileFailure):
        compiling.compile_cubin(TEXT, {}, "sm_90a")
    assert compiling.compile_cubin(TEXT, {}, "sm_90a") == b"code"
